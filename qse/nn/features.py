"""Compute quaternion features of a spectrum: (0, |X|, Re X, Im X) with power compression."""

import torch
from torch import Tensor, nn


class QuaternionFeatures(nn.Module):
    """Map spectra (B, 2, T, F) to pure quaternions (0, m^p, Re X m^(p-1), Im X m^(p-1)), m = |X|:
    (B, 4, 1, T, bins).

    `power` p = 1 is the main paper's (0, |X|, Re X, Im X); p = 0.3 compresses the dynamic range of
    speech and keeps the phase. m is at least 1e-5, so silence gives zeros in Re and Im and a finite
    |X|. `bins`: number
    of bins that are kept, from the lowest; None: all.
    `gain` multiplies the spectrum first: a window of the same duration sums more samples at a
    higher sample rate. So does the gain of each frame, (B, T), that `forward` takes.
    """

    def __init__(self, power: float = 0.3, bins: int | None = None, gain: float = 1.0):
        super().__init__()
        self.power = power
        self.bins = bins
        self.gain = gain

    def forward(self, spec: Tensor, frame_gain: Tensor | None = None) -> Tensor:
        spec = spec[..., : self.bins] * self.gain if self.gain != 1 else spec[..., : self.bins]
        if frame_gain is not None:
            spec = spec * frame_gain[:, None, :, None]
        power = spec.square().sum(1, keepdim=True).clamp_min(1e-10)  # m^2: B, 1, T, F
        mag = power ** (self.power / 2)
        scale = power ** ((self.power - 1) / 2)
        return torch.cat([torch.zeros_like(power), mag, spec * scale], dim=1)[:, :, None]
