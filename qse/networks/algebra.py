"""Convert a network to another algebra: every quaternion weight is replaced by a real matrix of the
same size.

"quaternion" changes nothing, "real" uses a free matrix (four times the weights), "phm" a sum of n
Kronecker products with a learned rule (nn/hypercomplex.py). Norms, biases and products of
features do not change. Quaternion weights are those that layers declare (nn/declared.py).
"""

from typing import Literal, get_args

from torch import Tensor, nn

from ..nn.declared import declared_weights
from ..nn.hypercomplex import HypercomplexWeight

Algebra = Literal["quaternion", "real", "phm"]
ALGEBRAS = get_args(Algebra)


def convert_(network: nn.Module, algebra: str, n: int = 4) -> None:
    """Give `network` new weights of `algebra`, in place.

    ValueError for an unknown one, or if n does not divide.
    """
    if algebra not in ALGEBRAS:
        raise ValueError(f"algebra {algebra!r}: choose one of {', '.join(ALGEBRAS)}")
    if algebra == "quaternion":
        return
    for weight in list(declared_weights(network)):
        value = weight.value
        if isinstance(value, Tensor):
            delattr(weight.layer, weight.name)
            gates, _, out, into, *kernel = (value if weight.gated else value[None]).shape
            rules = n if algebra == "phm" else 1
            random = HypercomplexWeight(rules, 4 * out, 4 * into, tuple(kernel), gates)
            setattr(weight.layer, weight.name, random)


def quaternion_weights(network: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return the declared quaternion weights, (4, out, in, *kernel), and gates,
    (gates, 4, out, in), each one once."""
    weights: dict[nn.Parameter, None] = {}
    gates: dict[nn.Parameter, None] = {}
    for weight in declared_weights(network):
        if isinstance(weight.value, nn.Parameter):
            kind = gates if weight.gated else weights
            kind[weight.value] = None
    return list(weights), list(gates)
