"""Layers of a folded network: the same functions in plain real numbers, as an exported graph computes them.

A folded network has no quaternion axis. Its channels are real and its features (B, C, T, F), its tokens (..., C); the
four components of a quaternion channel lie side by side, so that joining, splitting and counting channels mean the
same as before. Every class here stands for a layer of another room and takes its weights from it.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..nn.attention import SharedScoreAttention
from ..nn.conv import QuaternionConv2d
from ..nn.features import QuaternionFeatures
from ..nn.hamilton import HamiltonAttention
from ..nn.linear import QuaternionLinear
from ..nn.norm import QuaternionBatchNorm2d, QuaternionLayerNorm, QuaternionRMSNorm, scale_and_shift
from ..nn.quaternion import real_matrix
from ..nn.recurrent import QuaternionGRU, gate_matrix
from ..nn.state import State, Stateful
from .fourier import bins_by_place


def side_by_side(x: Tensor, dim: int = 0) -> Tensor:
    """Reals in the order of (4, C) -> the same reals in the order of (C, 4), along `dim`."""
    return x.unflatten(dim, (4, -1)).transpose(dim, dim + 1).flatten(dim, dim + 1)


def quaternions(x: Tensor) -> Tensor:
    """Tokens (..., C) with components side by side -> (..., 4, C / 4)."""
    return x.unflatten(-1, (-1, 4)).mT


def reals(x: Tensor) -> Tensor:
    """The inverse of `quaternions`."""
    return x.mT.flatten(-2)


def matrix(weight: Tensor | nn.Module) -> Tensor:
    """The real matrix of a weight, between channels whose components lie side by side: (out, in, *kernel)."""
    return side_by_side(side_by_side(real_matrix(weight)), 1)


def real_linear(linear: QuaternionLinear) -> nn.Linear:
    weight = matrix(linear.weight)
    real = nn.Linear(weight.shape[1], weight.shape[0], bias=linear.bias is not None)
    real.weight = nn.Parameter(weight)
    if linear.bias is not None:
        real.bias = nn.Parameter(linear.bias.T.flatten())
    return real


def real_conv(conv: QuaternionConv2d, norm: QuaternionBatchNorm2d | None = None) -> nn.Conv2d:
    """The convolution, and the batch norm behind it if there is one."""
    weight = matrix(conv.weight)
    bias = weight.new_zeros(len(weight)) if conv.bias is None else conv.bias.T.flatten()
    if norm is not None:
        scale, shift = map(side_by_side, scale_and_shift(norm))
        weight, bias = weight * scale[:, None, None, None], bias * scale + shift
    out, into, time, frequency = weight.shape
    real = nn.Conv2d(into, out, (time, frequency), conv.stride, conv.padding, conv.dilation)
    real.weight, real.bias = nn.Parameter(weight), nn.Parameter(bias)
    return real


class RealFeatures(nn.Module):
    """`QuaternionFeatures` of `bins`, from a spectrum by places: (B, T, R, 2, J) -> (B, 3, T, len(bins)).

    The real part of these quaternions is zero and is left out.
    """

    index: Tensor

    def __init__(self, features: QuaternionFeatures, n_fft: int, bins: Tensor):
        super().__init__()
        self.power = features.power
        places = bins_by_place(n_fft)
        place = (places.flatten() == bins[:, None]).int().argmax(1)  # the first one of each bin
        re = place + place // places.shape[1] * places.shape[1]  # among (r, part, m)
        self.register_buffer("index", torch.cat([re, re + places.shape[1]]).int())

    def forward(self, spec: Tensor) -> Tensor:
        spec = spec.flatten(2).index_select(2, self.index).unflatten(2, (2, -1)).transpose(1, 2)  # B, 2, T, bins
        mag = torch.linalg.vector_norm(spec, dim=1, keepdim=True).clamp_min(1e-5)
        return torch.cat([mag, spec], 1) * mag ** (self.power - 1)


class RealMask(nn.Module):
    """`MagnitudePhaseMask` by places: spec (B, T, R, 2, J), o (B, 3, T, F) -> products (B, T, R, 2, 2, J).

    The 1 of 1 + o1 is in o already; the 2 of 2 sigmoid(o0) and the sum of the products are left to the synthesis.
    """

    index: Tensor

    def __init__(self, n_fft: int, bins: int):
        super().__init__()
        places = bins_by_place(n_fft).clamp_max(bins - 1)  # R, J
        self.register_buffer("index", torch.stack([places, places + bins], 1).flatten().int())
        self.rows = len(places)

    def forward(self, spec: Tensor, o: Tensor) -> Tensor:
        gain, turn = o.split([1, 2], 1)
        length = torch.linalg.vector_norm(turn, dim=1, keepdim=True).clamp_min(math.sqrt(1e-7))
        turn = turn * (torch.sigmoid(gain) / length)
        turn = turn.transpose(1, 2).flatten(2).index_select(2, self.index).unflatten(2, (self.rows, 1, 2, -1))
        return spec[:, :, :, :, None] * turn


class RealLayerNorm(nn.Module):
    """`QuaternionLayerNorm` on (..., C): thin matrix products take the mean of each component, then a layer norm."""

    def __init__(self, norm: QuaternionLayerNorm):
        super().__init__()
        channels = len(norm.gain)
        self.mean = nn.Parameter(torch.eye(4).repeat(channels, 1) / channels)  # C, 4
        self.spread = nn.Parameter(-torch.eye(4).repeat(1, channels))  # 4, C
        self.gain = nn.Parameter(norm.gain.repeat_interleave(4))
        self.bias, self.eps = nn.Parameter(norm.bias.T.flatten()), norm.eps

    def forward(self, x: Tensor) -> Tensor:
        x = x @ self.mean @ self.spread + x
        return F.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.eps)


class RealRMSNorm(nn.Module):
    """`QuaternionRMSNorm` on (..., C)."""

    def __init__(self, norm: QuaternionRMSNorm):
        super().__init__()
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        return reals(self.norm(quaternions(x)))


class RealAttention(nn.Module):
    """`SharedScoreAttention` on (N, L, C): the attention of real heads that it is."""

    def __init__(self, attention: SharedScoreAttention):
        super().__init__()
        project = attention.project
        self.heads = project.heads
        self.linear, self.out = real_linear(project.linear), real_linear(attention.out)
        self.norm_q, self.norm_k = (
            RealRMSNorm(norm) if isinstance(norm, QuaternionRMSNorm) else norm
            for norm in (project.norm_q, project.norm_k)
        )
        scale = (self.linear.in_features // self.heads) ** -0.5
        if isinstance(self.norm_q, RealRMSNorm):
            self.norm_q.norm.gain.mul_(scale)
        else:
            for parameter in self.linear.parameters():
                parameter[: self.linear.in_features] *= scale

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.linear(x).mT.unflatten(1, (3 * self.heads, -1))  # N, 3 H, d, L: the heads lie apart
        q, k, v = qkv.split(self.heads, 1)
        weights = (self.norm_q(q.mT) @ self.norm_k(k.mT).mT).softmax(-1)  # N, H, L, L
        return self.out((v @ weights.mT).flatten(1, 2).mT)


class RealGRU(Stateful):
    """`QuaternionGRU` on (N, T, C), step by step: for the one frame of a graph less work than the operator GRU."""

    def __init__(self, gru: QuaternionGRU):
        super().__init__()
        self.input_r, self.input_z, self.input_n = _by_gate(gru.weight_input)
        self.hidden_r, self.hidden_z, self.hidden_n = _by_gate(gru.weight_hidden)
        r, z, n = (bias.T.flatten() for bias in gru.bias_input)
        hidden_r, hidden_z, hidden_n = (bias.T.flatten() for bias in gru.bias_hidden)
        self.input_bias_r, self.input_bias_z = nn.Parameter(r + hidden_r), nn.Parameter(z + hidden_z)
        self.input_bias_n, self.hidden_bias_n = nn.Parameter(n), nn.Parameter(hidden_n)

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if hidden is None:
            hidden = x.new_zeros(x.shape[0], len(self.hidden_n))
        after = []
        for step in x.unbind(1):
            hidden = self._step(step, hidden)
            after.append(hidden)
        return torch.stack(after, 1), hidden

    def _step(self, x: Tensor, h: Tensor) -> Tensor:
        r = torch.sigmoid(torch.addmm(torch.addmm(self.input_bias_r, x, self.input_r), h, self.hidden_r))
        z = torch.sigmoid(torch.addmm(torch.addmm(self.input_bias_z, x, self.input_z), h, self.hidden_z))
        n = torch.addmm(self.hidden_bias_n, h, self.hidden_n)
        n = torch.tanh(torch.addmm(self.input_bias_n, x, self.input_n) + r * n)
        return n + z * (h - n)


def _by_gate(weight: Tensor | nn.Module) -> list[nn.Parameter]:
    """The matrices of r, z and n, (in, out) each."""
    gates = gate_matrix(weight).chunk(3)
    return [nn.Parameter(side_by_side(side_by_side(gate), 1).T.contiguous()) for gate in gates]


class Quaternions(Stateful):
    """Any streaming layer on tokens of quaternions, inside a network of reals: (N, T, C) -> (N, T, C)."""

    def __init__(self, layer: Stateful):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        y, state = self.layer(quaternions(x), state)
        return reals(y), state


class RealHamiltonAttention(nn.Module):
    """`HamiltonAttention` on (N, L, C), with the components apart inside."""

    def __init__(self, attention: HamiltonAttention):
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor) -> Tensor:
        return reals(self.attention(quaternions(x)))
