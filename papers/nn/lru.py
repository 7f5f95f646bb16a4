"""Linear recurrent unit in quaternions: a quaternion eigenvalue in place of a complex one.

Orvieto et al. 2023, "Resurrecting Recurrent Neural Networks for Long Sequences". x (N, T, 4, C).
lambda = exp(-exp(rate)) (cos |r| + r / |r| sin |r|), one per channel, r a vector of three numbers:
a rotation of four-dimensional space times a factor. Its modulus is below 1 for all values of the
parameters.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.nn.linear import QuaternionLinear
from qse.nn.time_mixer import TimeMixer

from .scan import turn_scan

SLOW = 0.99  # initial |lambda| lies between FAST and SLOW
FAST = 0.5
TURN = math.pi / 4  # the initial angle lies below


class QuaternionLRU(TimeMixer):
    """Mix frames by a linear recurrence: (N, T, 4, C) -> (N, T, 4, C); state: h, (N, 4, C).

    h[t] = h[t - 1] (x) lambda + sqrt(1 - |lambda|^2) x[t] (x) B and y[t] = silu(h[t] (x) C + D
    x[t]).
    """

    def __init__(self, channels: int):
        super().__init__()
        radius = (FAST**2 + (SLOW**2 - FAST**2) * torch.rand(channels)).sqrt()
        self.rate = nn.Parameter((-radius.log()).log())
        angle = TURN * torch.rand(channels)
        self.turn = nn.Parameter(angle * F.normalize(torch.randn(3, channels), dim=0))
        self.into = QuaternionLinear(channels, channels, bias=False)
        self.out = QuaternionLinear(channels, channels)
        self.skip = nn.Parameter(torch.randn(channels))

    def eigenvalue(self) -> Tensor:
        """Return lambda, (4, C)."""
        angle = torch.linalg.vector_norm(self.turn, dim=0)
        versor = torch.cat([angle.cos()[None], self.turn * torch.sinc(angle / math.pi)])
        return torch.exp(-self.rate.exp()) * versor

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if state is None:
            state = x.new_zeros(x.shape[0], *x.shape[2:])
        level = (-torch.expm1(-2 * self.rate.exp())).sqrt()  # sqrt(1 - |lambda|^2)
        h = turn_scan(self.eigenvalue(), level * self.into(x), state)
        return F.silu(self.out(h) + self.skip * x), h[:, -1]
