"""Linear layers (..., in) -> (..., out) over three algebras, for networks whose hidden vectors are real."""

from torch import Tensor, nn

from ...nn.linear import QuaternionLinear
from ...nn.research.hypercomplex import HypercomplexLinear


class FlatQuaternionLinear(QuaternionLinear):
    """(..., in) -> (..., out): the vector is read as [r; i; j; k], components first (Tay et al. 2019, section 3.5)."""

    def __init__(self, into: int, out: int, bias: bool = True):
        if into % 4 or out % 4:
            raise ValueError(f"a quaternion layer of {into} inputs and {out} outputs: both must be multiples of 4")
        super().__init__(into // 4, out // 4, bias)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.unflatten(-1, (4, -1))).flatten(-2)


def flat_linear(algebra: str, into: int, out: int, bias: bool = True, n: int = 4) -> nn.Module:
    """Build the linear layer of an algebra: real, quaternion or phm (with n)."""
    if algebra == "real":
        return nn.Linear(into, out, bias)
    if algebra == "quaternion":
        return FlatQuaternionLinear(into, out, bias)
    if algebra == "phm":
        return HypercomplexLinear(n, into, out, bias)
    raise ValueError(f"algebra {algebra!r}: choose one of real, quaternion, phm")
