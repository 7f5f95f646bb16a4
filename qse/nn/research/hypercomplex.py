"""Parameterised hypercomplex multiplication, PHM (Zhang et al. 2021, "Beyond Fully-Connected Layers with Quaternions",
Eqs. 4-5): layers that learn the multiplication rule with the weights.

y = H x + b, H = sum over i of A_i (kron) S_i. A_i (n, n), the rule; S_i (out / n, in / n), the weights: about 1 / n of
the numbers of H. n = 1 needs no rule and is the real layer, n = 4 with Hamilton's rule is the quaternion layer.

By the paper's parameter counts (Table 1: 361K, 146K and 81K for the LSTM) every gate has a rule of its own.
`HypercomplexConv` and `HypercomplexLSTM` are the paper's building blocks (docs/papers/phm.md); no network here uses
them.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..quaternion import PART, SIGN
from ..state import Stateful
from .cells import lstm


def hypercomplex_matrix(rule: Tensor, weight: Tensor) -> Tensor:
    """Return H of Eq. 5: rule (n, n, n), the A_i, and weight (n, out, in, *kernel) -> (n out, n in, *kernel).

    The Kronecker products are summed before reordering, so no tensor is larger than H.
    """
    n, out, into, *kernel = weight.shape
    blocks = rule.reshape(n, n * n).T @ weight.reshape(n, -1)  # n n, out in kernel
    return blocks.view(n, n, out, into, -1).transpose(1, 2).reshape(n * out, n * into, *kernel)


def hamilton_rule() -> Tensor:
    """Return (4, 4, 4), the rule with which PHM is x -> x (x) w (main paper, Eq. 28)."""
    rule = torch.zeros(4, 4, 4)
    for y in range(4):
        for x in range(4):
            rule[PART[y][x], y, x] = SIGN[y][x]
    return rule


class HypercomplexWeight(nn.Module):
    """Return the real matrix of a PHM layer, or of several gates stacked: () -> (gates * out, in, *kernel).

    `rule` (n, n, n) is fixed; without it every gate learns its own. ValueError where n does not divide.
    """

    rule: Tensor | None

    def __init__(
        self,
        n: int,
        out: int,
        into: int,
        kernel: tuple[int, ...] = (),
        gates: int = 1,
        rule: Tensor | None = None,
    ):
        super().__init__()
        if n < 1 or out % n or into % n:
            raise ValueError(
                f"n = {n} does not divide the {into} inputs and {out} outputs of a layer"
            )
        positions = math.prod(kernel)
        scale = math.sqrt(2 / ((into + out) * positions))
        self.weight = nn.Parameter(scale * torch.randn(gates, n, out // n, into // n, *kernel))
        if rule is not None:
            self.register_buffer("rule", rule.expand(gates, n, n, n).clone())
        elif n > 1:
            self.rule = nn.Parameter(torch.randn(gates, n, n, n) / math.sqrt(n))
        else:
            self.rule = None

    def forward(self) -> Tensor:
        if self.rule is None:
            return torch.cat(
                list(self.weight.flatten(0, 1))
            )  # a copy: counters take a view for a constant
        return torch.cat(
            [hypercomplex_matrix(*gate) for gate in zip(self.rule, self.weight, strict=True)]
        )


class HypercomplexLinear(nn.Module):
    """Apply a PHM linear layer: (..., in) -> (..., out), both divisible by n; Eq. 4."""

    def __init__(self, n: int, into: int, out: int, bias: bool = True, rule: Tensor | None = None):
        super().__init__()
        self.weight = HypercomplexWeight(n, out, into, rule=rule)
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight(), self.bias)


class HypercomplexConv(nn.Module):
    """(B, in, ...) -> (B, out, ...) over one or two axes, as many as `kernel` has: a PHM matrix at every position."""

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
        self.stride, self.padding = stride, padding
        self.conv = {1: F.conv1d, 2: F.conv2d}[len(kernel)]

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x, self.weight(), self.bias, self.stride, self.padding)


class HypercomplexLSTM(Stateful):
    """PHM-LSTM (section 4.1): (N, T, in) -> (N, T, H); state: {"hidden": (N, H), "cell": (N, H)}."""

    def __init__(self, n: int, into: int, hidden: int, rule: Tensor | None = None):
        super().__init__()
        self.weight_input = HypercomplexWeight(n, hidden, into, gates=4, rule=rule)  # i, f, g, o
        self.weight_hidden = HypercomplexWeight(n, hidden, hidden, gates=4, rule=rule)
        self.bias = nn.Parameter(torch.zeros(4, hidden))
        nn.init.ones_(self.bias[1])

    def forward(
        self, x: Tensor, state: dict[str, Tensor] | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        flat = None if state is None else (state["hidden"], state["cell"])
        y, hidden, cell = lstm(
            x, flat, self.weight_input(), self.weight_hidden(), self.bias.flatten()
        )
        return y, {"hidden": hidden, "cell": cell}
