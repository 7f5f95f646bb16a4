"""Parameterised hypercomplex multiplication, PHM: matrices that learn their rule with the weights.

Zhang et al. 2021, "Beyond Fully-Connected Layers with Quaternions", Eqs. 4-5: y = H x + b,
H = sum over i of A_i (kron) S_i. A_i (n, n), the rule; S_i (out / n, in / n), the weights: about
1 / n of the numbers of H. n = 1 needs no rule and is the real layer, n = 4 with Hamilton's rule is
the quaternion layer.
"""

import math

import torch
from torch import Tensor, nn


def hypercomplex_matrix(rule: Tensor, weight: Tensor) -> Tensor:
    """Return H of Eq. 5.

    rule (n, n, n), the A_i, and weight (n, out, in, *kernel), the S_i -> (n out, n in, *kernel).
    The Kronecker products are summed before reordering, so no tensor is larger than H.
    """
    n, out, into, *kernel = weight.shape
    blocks = rule.reshape(n, n * n).T @ weight.reshape(n, -1)  # n n, out in kernel
    return blocks.view(n, n, out, into, -1).transpose(1, 2).reshape(n * out, n * into, *kernel)


class HypercomplexWeight(nn.Module):
    """Return the real matrix of a PHM layer, or of several gates: () -> (gates * out, in, *kernel).

    `rule` (n, n, n) is fixed; without it every gate learns its own. ValueError where n does not
    divide.
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
            return torch.cat(list(self.weight.flatten(0, 1)))  # counters take a view for a constant

        gates = zip(self.rule, self.weight, strict=True)
        return torch.cat([hypercomplex_matrix(rule, weight) for rule, weight in gates])
