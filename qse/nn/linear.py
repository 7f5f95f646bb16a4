"""Compute the quaternion linear layer (main paper, Appendix A.1, Eqs. 21-28).

Tokens are (..., 4, channels).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .declared import TOKENS
from .init import quaternion_init_
from .quaternion import real_matrix


class QuaternionLinear(nn.Module):
    """Compute y = x (x) W + b: (..., 4, in_channels) -> (..., 4, out_channels); channels are
    counted in quaternions."""

    quaternion_weights = ("weight",)
    quaternion_axis = TOKENS

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(quaternion_init_(torch.empty(4, out_channels, in_channels)))
        self.bias = nn.Parameter(torch.zeros(4, out_channels)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.flatten()
        y = F.linear(x.flatten(-2), real_matrix(self.weight), bias)  # ..., 4 out
        return y.unflatten(-1, (4, -1))
