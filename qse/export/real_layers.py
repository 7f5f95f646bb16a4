"""Register real forms of the basic layers: linear layers, convolutions with their batch norm,
norms, the GRU, and attention between the bands of a frame."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..networks.dense_block import ConvUnit
from ..nn.attention import SharedScoreAttention
from ..nn.batch_norm import QuaternionBatchNorm2d, fold_batch_norm
from ..nn.conv import QuaternionConv2d
from ..nn.features import QuaternionFeatures
from ..nn.linear import QuaternionLinear
from ..nn.norm import QuaternionLayerNorm, QuaternionRMSNorm
from ..nn.quaternion import gate_matrix, real_matrix
from ..nn.real_head import RealHead
from ..nn.recurrent import QuaternionGRU
from ..nn.state import Stateful
from .real_form import adapt, interleave, quaternions, real_form, reals, register, with_children


@register(QuaternionLinear)
def real_linear(linear: QuaternionLinear) -> nn.Linear:
    """Return the real form of a linear layer: (..., C) -> (..., C')."""
    weight = interleave(interleave(real_matrix(linear.weight)), 1)
    real = nn.Linear(weight.shape[1], weight.shape[0], bias=linear.bias is not None)
    real.weight = nn.Parameter(weight)
    if linear.bias is not None:
        real.bias = nn.Parameter(linear.bias.T.flatten())
    return real


@register(QuaternionConv2d)
def real_conv(conv: QuaternionConv2d, norm: QuaternionBatchNorm2d | None = None) -> nn.Conv2d:
    """Return the real form of `conv`, and of `norm` after it if given: (B, C, T, F) ->
    (B, C', T', F')."""
    weight = real_matrix(conv.weight)
    bias = None if conv.bias is None else conv.bias.flatten()
    if norm is not None:
        weight, bias = fold_batch_norm(weight, bias, norm)
    return conv_of(weight, bias, conv)


def conv_of(weight: Tensor, bias: Tensor | None, conv: Any) -> nn.Conv2d:
    """Return a real convolution with the weight (4 out, 4 in, kt, kf) and the stride, padding and
    dilation of the layer `conv`."""
    out, into, time, frequency = weight.shape
    real = nn.Conv2d(into, out, (time, frequency), conv.stride, conv.padding, conv.dilation)
    real.weight = nn.Parameter(interleave(interleave(weight), 1))
    real.bias = nn.Parameter(weight.new_zeros(out) if bias is None else interleave(bias))
    return real


@adapt(ConvUnit)
def _unit(unit: ConvUnit) -> ConvUnit:
    return with_children(unit, conv=real_conv(unit.conv, unit.norm), norm=nn.Identity())


@register(QuaternionFeatures)
def _features(features: QuaternionFeatures) -> nn.Sequential:
    """Map one quaternion channel to four real ones: (B, 2, T, F) -> (B, 4, T, F)."""
    return nn.Sequential(features, nn.Flatten(1, 2))


@adapt(RealHead)
def _head(head: RealHead) -> RealHead:
    head.weight = nn.Parameter(interleave(head.weight, 1))
    return head


class RealLayerNorm(nn.Module):
    """Compute `QuaternionLayerNorm` on (..., C): matrix products give the mean of each component,
    then a layer norm."""

    def __init__(self, norm: QuaternionLayerNorm):
        super().__init__()
        channels = len(norm.gain)
        self.mean = nn.Parameter(torch.eye(4).repeat(channels, 1) / channels)  # C, 4
        self.spread = nn.Parameter(-torch.eye(4).repeat(1, channels))  # 4, C
        self.gain = nn.Parameter(norm.gain.repeat_interleave(4))
        self.bias = nn.Parameter(norm.bias.T.flatten())
        self.eps = norm.eps

    def forward(self, x: Tensor) -> Tensor:
        x = x @ self.mean @ self.spread + x
        return F.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.eps)


class RealRMSNorm(nn.Module):
    """Compute `QuaternionRMSNorm` on (..., C)."""

    def __init__(self, norm: QuaternionRMSNorm):
        super().__init__()
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        return reals(self.norm(quaternions(x)))


class RealGRU(Stateful):
    """Compute `QuaternionGRU` on (N, T, C) step by step: faster than the GRU operator for one frame
    per call."""

    def __init__(self, gru: QuaternionGRU):
        super().__init__()
        self.input_r, self.input_z, self.input_n = _by_gate(gru.weight_input)
        self.hidden_r, self.hidden_z, self.hidden_n = _by_gate(gru.weight_hidden)
        r, z, n = gru.bias_input.mT.flatten(1)
        hidden_r, hidden_z, hidden_n = gru.bias_hidden.mT.flatten(1)
        self.input_bias_r = nn.Parameter(r + hidden_r)
        self.input_bias_z = nn.Parameter(z + hidden_z)
        self.input_bias_n = nn.Parameter(n)
        self.hidden_bias_n = nn.Parameter(hidden_n)

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if hidden is None:
            hidden = x.new_zeros(x.shape[0], len(self.hidden_n))
        outputs = []
        for frame in x.unbind(1):
            hidden = self._step(frame, hidden)
            outputs.append(hidden)
        return torch.stack(outputs, 1), hidden

    def _step(self, x: Tensor, h: Tensor) -> Tensor:
        r = torch.sigmoid(
            torch.addmm(torch.addmm(self.input_bias_r, x, self.input_r), h, self.hidden_r)
        )
        z = torch.sigmoid(
            torch.addmm(torch.addmm(self.input_bias_z, x, self.input_z), h, self.hidden_z)
        )
        n = torch.addmm(self.hidden_bias_n, h, self.hidden_n)
        n = torch.tanh(torch.addmm(self.input_bias_n, x, self.input_n) + r * n)
        return n + z * (h - n)


def _by_gate(weight: Tensor | nn.Module) -> list[nn.Parameter]:
    """Return the matrices of r, z and n, (in, out) each."""
    gates = gate_matrix(weight).chunk(3)
    return [nn.Parameter(interleave(interleave(gate), 1).T.contiguous()) for gate in gates]


class RealAttention(nn.Module):
    """Compute `SharedScoreAttention` on (N, L, C): attention of real heads, the scale folded into
    weights."""

    def __init__(self, attention: SharedScoreAttention):
        super().__init__()
        project = attention.project
        self.heads = project.heads
        self.linear = real_linear(project.linear)
        self.out = real_linear(attention.out)
        channels = self.linear.in_features
        scaled = [parameter[:channels] for parameter in self.linear.parameters()]  # of the queries
        if project.qk_norm:
            scaled = list(project.norm_q.parameters())  # a norm would undo the scale of its input
        for weight in scaled:
            weight.mul_((channels // self.heads) ** -0.5)
        self.norm_q = real_form(project.norm_q)
        self.norm_k = real_form(project.norm_k)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.linear(x).mT.unflatten(1, (3 * self.heads, -1))  # N, 3 H, d, L
        q, k, v = qkv.split(self.heads, 1)
        weights = (self.norm_q(q.mT) @ self.norm_k(k.mT).mT).softmax(-1)  # N, H, L, L
        return self.out((v @ weights.mT).flatten(1, 2).mT)


register(QuaternionLayerNorm, RealLayerNorm)
register(QuaternionRMSNorm, RealRMSNorm)
register(QuaternionGRU, RealGRU)
register(SharedScoreAttention, RealAttention)
