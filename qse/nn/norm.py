"""Normalise quaternions without statistics over time, as streaming needs.

`QuaternionRMSNorm` is Eqs. 17-18 of the main paper; `QuaternionLayerNorm` treats one token at a
time.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .declared import TOKENS


class QuaternionRMSNorm(nn.Module):
    """Divide every quaternion of (..., 4, C) by its RMS over components and scale it by a real gain
    per channel.

    Orientation is kept, the modulus becomes 2 |gain| (main paper, Eqs. 17-18).
    """

    quaternion_axis = TOKENS

    def __init__(self, channels: int, eps: float = 1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        power = x.square().mean(-2, keepdim=True)  # ..., 1, C
        return x * torch.rsqrt(power + self.eps) * self.gain


class QuaternionLayerNorm(nn.Module):
    """Subtract from (..., 4, C) the mean quaternion over channels, and divide by half the RMS
    modulus of the result.

    Gain is one real number per channel, bias one quaternion; one scale serves all components, so
    orientation is kept.
    """

    quaternion_axis = TOKENS

    def __init__(self, channels: int, eps: float = 1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(4, channels))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        # ..., 4 C, of mean zero, so layer_norm divides by the RMS
        x = (x - x.mean(-1, keepdim=True)).flatten(-2)
        y = F.layer_norm(x, x.shape[-1:], self.gain.repeat(4), self.bias.flatten(), self.eps)
        return y.unflatten(-1, (4, -1))
