"""Compute features and mask in their real forms, on a spectrum by the places of the factored
transform (fourier.py)."""

import math

import torch
from torch import Tensor, nn

from ..nn.features import QuaternionFeatures
from .fourier import bins_by_place


class RealFeatures(nn.Module):
    """Compute `QuaternionFeatures` of `bins`, from a spectrum by places and a gain of each frame:
    (B, T, R, 2, J), (B, T) -> (B, 3, T, len(bins)).

    The real part of these quaternions is zero and left out.
    """

    index: Tensor

    def __init__(self, features: QuaternionFeatures, n_fft: int, bins: Tensor):
        super().__init__()
        self.power = features.power
        self.gain = features.gain
        places = bins_by_place(n_fft)
        place = (places.flatten() == bins[:, None]).int().argmax(1)  # the first one of each bin
        re = place + place // places.shape[1] * places.shape[1]  # among (r, part, m)
        self.register_buffer("index", torch.cat([re, re + places.shape[1]]).int())

    def forward(self, spec: Tensor, frame_gain: Tensor) -> Tensor:
        # B, 2, T, bins
        spec = spec.flatten(2).index_select(2, self.index).unflatten(2, (2, -1)).transpose(1, 2)
        if self.gain != 1:
            spec = spec * self.gain
        spec = spec * frame_gain[:, None, :, None]
        mag = torch.linalg.vector_norm(spec, dim=1, keepdim=True).clamp_min(1e-5)
        return torch.cat([mag, spec], 1) * mag ** (self.power - 1)


class RealMask(nn.Module):
    """Apply `MagnitudePhaseMask` by places: spec (B, T, R, 2, J), o (B, 3, T, F) -> products
    (B, T, R, 2, 2, J).

    The decoder adds the 1 of 1 + o1; the synthesis applies the 2 of 2 sigmoid(o0) and sums the
    products.
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
        turn = (
            turn.transpose(1, 2)
            .flatten(2)
            .index_select(2, self.index)
            .unflatten(2, (self.rows, 1, 2, -1))
        )
        return spec[:, :, :, :, None] * turn
