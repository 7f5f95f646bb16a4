"""PHM layers: linear, convolution, LSTM.

Zhang et al. 2021, "Beyond Fully-Connected Layers with Quaternions". Their weight is
`HypercomplexWeight`, Eqs. 4-5. By the paper's parameter counts (Table 1: 361K, 146K and 81K for the
LSTM) every gate has a rule of its own.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.nn.hypercomplex import HypercomplexWeight
from qse.nn.quaternion import PART, SIGN
from qse.nn.state import Stateful

from ..nn.cells import lstm


def hamilton_rule() -> Tensor:
    """Return (4, 4, 4), the rule with which PHM is x -> x (x) w (main paper, Eq. 28)."""
    rule = torch.zeros(4, 4, 4)
    for y in range(4):
        for x in range(4):
            rule[PART[y][x], y, x] = SIGN[y][x]
    return rule


class HypercomplexLinear(nn.Module):
    """Apply a PHM linear layer: (..., in) -> (..., out), both divisible by n; Eq. 4."""

    def __init__(self, n: int, into: int, out: int, bias: bool = True, rule: Tensor | None = None):
        super().__init__()
        self.weight = HypercomplexWeight(n, out, into, rule=rule)
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight(), self.bias)


class HypercomplexConv(nn.Module):
    """Apply a PHM matrix at every position of the kernel: (B, in, ...) -> (B, out, ...).

    The convolution goes over one or two axes, as many as `kernel` has.
    """

    def __init__(
        self,
        n: int,
        into: int,
        out: int,
        kernel: tuple[int, ...],
        *,
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        bias: bool = True,
        rule: Tensor | None = None,
    ):
        super().__init__()
        self.weight = HypercomplexWeight(n, out, into, kernel, rule=rule)
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None
        self.stride = stride
        self.padding = padding
        self.conv = {1: F.conv1d, 2: F.conv2d}[len(kernel)]

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x, self.weight(), self.bias, self.stride, self.padding)


class HypercomplexLSTM(Stateful):
    """PHM-LSTM (section 4.1): (N, T, in) -> (N, T, H).

    State: {"hidden": (N, H), "cell": (N, H)}.
    """

    def __init__(self, n: int, into: int, hidden: int, rule: Tensor | None = None):
        super().__init__()
        self.weight_input = HypercomplexWeight(n, hidden, into, gates=4, rule=rule)  # i, f, g, o
        self.weight_hidden = HypercomplexWeight(n, hidden, hidden, gates=4, rule=rule)
        self.bias = nn.Parameter(torch.zeros(4, hidden))
        nn.init.ones_(self.bias[1])

    def forward(
        self, x: Tensor, state: dict[str, Tensor] | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        start = None if state is None else (state["hidden"], state["cell"])
        weights = (self.weight_input(), self.weight_hidden(), self.bias.flatten())
        y, hidden, cell = lstm(x, start, *weights)
        return y, {"hidden": hidden, "cell": cell}
