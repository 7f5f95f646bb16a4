"""Apply a magnitude mask and a phase correction to a spectrum (main paper, Eqs. 68-69)."""

import torch
from torch import Tensor, nn


class MagnitudePhaseMask(nn.Module):
    """Mask the spectrum X: spec (B, 2, T, F), o (B, 3, T, F') -> S (B, 2, T, F).

    |S| = 2 sigmoid(o0) |X|, arg S = arg X + arg(1 + o1 + i o2): the correction is a unit phasor, so
    no angle is computed or wrapped. o = 0 leaves the spectrum unchanged. With F' = F - 1 the
    Nyquist bin has the last bin's gain.
    """

    def forward(self, spec: Tensor, o: Tensor) -> Tensor:
        last = spec.shape[3] - o.shape[3]
        if last:
            o = torch.cat([o, o[..., -last:]], dim=3)
        o, a, b = o.split(1, dim=1)  # each B, 1, T, F
        a = 1 + a
        scale = 2 * torch.sigmoid(o) / (a * a + b * b).clamp_min(1e-7).sqrt()
        c = scale * a
        s = scale * b
        re, im = spec.split(1, dim=1)
        return torch.cat([re * c - im * s, re * s + im * c], dim=1)
