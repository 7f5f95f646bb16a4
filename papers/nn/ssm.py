"""Selective state space with Hamilton input: the mixer of Q-Mamba.

"Q-Jamba: Quaternion-Native Hybrid State-Space Language Models", section 3.2 and Appendix B. x
(N, T, 4, C). h[t] = decay[t] * h[t - 1] + k[t] (x) v[t] and y[t] = q[t] (x) h[t], quaternion by
quaternion; decay, k, v and q are computed from the frame and the three before it.
decay = exp(-softplus(-g)) = sigmoid(g) is separate for every real component and initialised to
sigmoid(2.94) = 0.95.

The paper's four scan heads have projections of their own onto a quarter of the state each. As the
recurrence never mixes channels, they equal one projection onto the complete state, which is used
here.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.nn.declared import TOKENS
from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import hamilton_product
from qse.nn.state import Stateful
from qse.nn.time_mixer import TimeMixer

from .scan import decay_scan

DECAY_BIAS = 2.94


class ShortConv(Stateful):
    """Convolve each channel over the last `kernel` frames, causally: (N, T, 4, C) -> (N, T, 4, C).

    State: the last kernel - 1 frames, (N, kernel - 1, 4, C).
    """

    quaternion_axis = TOKENS

    def __init__(self, channels: int, kernel: int = 4):
        super().__init__()
        bound = kernel**-0.5
        self.weight = nn.Parameter(torch.empty(4 * channels, 1, kernel).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(4 * channels))
        self.history = kernel - 1

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if past is None:
            past = x.new_zeros(x.shape[0], self.history, *x.shape[2:])
        x = torch.cat([past, x], 1)
        y = F.conv1d(x.flatten(2).transpose(1, 2), self.weight, self.bias, groups=len(self.bias))
        return y.transpose(1, 2).unflatten(-1, x.shape[2:]), x[:, x.shape[1] - self.history :]


class QuaternionSSM(TimeMixer):
    """Mix frames of (N, T, 4, C) by a selective state space.

    State: {"conv": last three frames, "scan": h, (N, 4, C)}. `scan_dropout` applies to h as it is
    read, `gate_dropout` to the input of the decay gate, not to its bias.
    """

    def __init__(
        self, channels: int, kernel: int = 4, scan_dropout: float = 0.0, gate_dropout: float = 0.0
    ):
        super().__init__()
        self.conv = ShortConv(channels, kernel)
        self.project = QuaternionLinear(channels, 3 * channels)  # k, v, q
        self.gate = QuaternionLinear(channels, channels)
        nn.init.constant_(self.gate.get_parameter("bias"), DECAY_BIAS)
        self.out = QuaternionLinear(channels, channels)
        self.scan_dropout = nn.Dropout(scan_dropout)
        self.gate_dropout = nn.Dropout(gate_dropout)

    def forward(self, x: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        state = state or {"conv": None, "scan": x.new_zeros(x.shape[0], *x.shape[2:])}
        x, conv = self.conv(x, state["conv"])
        x = F.silu(x)
        k, v, q = self.project(x).chunk(3, -1)  # each N, T, 4, C
        decay = torch.sigmoid(self.gate(self.gate_dropout(x)))
        h = decay_scan(decay, hamilton_product(k, v, -2), state["scan"])
        y = hamilton_product(q, self.scan_dropout(h), -2)
        return self.out(y), {"conv": conv, "scan": h[:, -1]}
