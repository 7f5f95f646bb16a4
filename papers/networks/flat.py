"""Linear layers (..., in) -> (..., out) over several algebras, on real hidden vectors."""

import math

import torch
from torch import Tensor, nn

from qse.nn.linear import QuaternionLinear

from .hypercomplex import HypercomplexLinear


class FlatQuaternionLinear(QuaternionLinear):
    """Quaternion linear layer: (..., in) -> (..., out).

    The vector is read as [r; i; j; k], components first (Tay et al. 2019, section 3.5).
    """

    def __init__(self, into: int, out: int, bias: bool = True):
        if into % 4 or out % 4:
            sizes = f"{into} inputs and {out} outputs"
            raise ValueError(f"a quaternion layer of {sizes}: both must be multiples of 4")
        super().__init__(into // 4, out // 4, bias)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.unflatten(-1, (4, -1))).flatten(-2)


class BlockDiagonalLinear(nn.Module):
    """Four independent blocks, one per component: (..., in) -> (..., out) ("Q-Jamba", section 6.3).

    It has as many numbers as the quaternion layer, but each acts on one component alone.
    """

    def __init__(self, into: int, out: int, bias: bool = True):
        super().__init__()
        if into % 4 or out % 4:
            raise ValueError(
                f"four blocks of {into} inputs and {out} outputs: both must be multiples of 4"
            )
        self.weight = nn.Parameter(
            math.sqrt(8 / (into + out)) * torch.randn(4, into // 4, out // 4)
        )
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        y = torch.einsum("...ki,kio->...ko", x.unflatten(-1, (4, -1)), self.weight).flatten(-2)
        return y if self.bias is None else y + self.bias


def flat_linear(algebra: str, into: int, out: int, bias: bool = True, n: int = 4) -> nn.Module:
    """Build the linear layer of an algebra: real, quaternion, block-diagonal or phm (with n)."""
    if algebra == "real":
        return nn.Linear(into, out, bias)
    if algebra == "quaternion":
        return FlatQuaternionLinear(into, out, bias)
    if algebra == "block-diagonal":
        return BlockDiagonalLinear(into, out, bias)
    if algebra == "phm":
        return HypercomplexLinear(n, into, out, bias)
    raise ValueError(f"algebra {algebra!r}: choose one of real, quaternion, block-diagonal, phm")
