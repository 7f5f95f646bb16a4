"""Apply the paper's mask: a gain for the magnitude and an angle for the phase of every bin
(main paper, Eqs. 68-69)."""

import torch
from torch import Tensor, nn


class PolarMask(nn.Module):
    """Mask a spectrum: spec (B, 2, T, F), o (B, 2, T, F) -> (B, 2, T, F).

    |S| = 2 sigmoid(o0) |X| and arg S = arg X + o1, in radians, as a rotation: no angle of X is
    computed or wrapped. o = 0 leaves the spectrum unchanged.
    """

    def forward(self, spec: Tensor, o: Tensor) -> Tensor:
        gain = 2 * torch.sigmoid(o[:, 0])
        angle = o[:, 1]
        c = gain * angle.cos()
        s = gain * angle.sin()
        re, im = spec.unbind(1)
        return torch.stack([re * c - im * s, re * s + im * c], dim=1)
