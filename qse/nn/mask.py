"""From the network's output back to a spectrum: magnitude mask and phase correction (main paper, Eqs. 68-69)."""

import torch
from torch import Tensor, nn


class MagnitudePhaseMask(nn.Module):
    """spec (B, 2, T, F), o (B, 3, T, F') -> (B, 2, T, F).

    |S| = 2 sigmoid(o0) |X|, arg S = arg X + arg(1 + o1 + i o2): the correction is a unit phasor, so nothing wraps and
    no angle is computed. o = 0 leaves the spectrum as it is. With F' = F - 1 the Nyquist bin takes the last gain.
    """

    def forward(self, spec: Tensor, o: Tensor) -> Tensor:
        gain, a, b = 2 * torch.sigmoid(o[:, 0]), 1 + o[:, 1], o[:, 2]  # B, T, F'
        scale = gain * torch.rsqrt((a * a + b * b).clamp_min(1e-7))
        factor = torch.stack([scale * a, scale * b], dim=1)
        last = spec.shape[3] - factor.shape[3]
        if last:
            factor = torch.cat([factor, factor[..., -last:]], dim=3)
        c, s = factor.unbind(1)
        re, im = spec.unbind(1)
        return torch.stack([re * c - im * s, re * s + im * c], dim=1)
