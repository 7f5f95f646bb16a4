"""Convert a network to another algebra: every quaternion weight is replaced by a real matrix of the same size.

"quaternion" changes nothing, "real" uses a free matrix (four times the weights), "phm" a sum of n Kronecker products
with a learned rule (nn/research/hypercomplex.py). Norms, biases and products of features do not change.
"""

from torch import Tensor, nn

from ..nn.conv import QuaternionConv2d
from ..nn.linear import QuaternionLinear
from ..nn.recurrent import QuaternionGRU
from ..nn.research.cells import QuaternionLSTM, QuaternionRNN
from ..nn.research.hypercomplex import HypercomplexWeight
from .dilated_densenet import NormedConv

ALGEBRAS = ("quaternion", "real", "phm")

WEIGHTS: dict[type[nn.Module], tuple[str, ...]] = {
    QuaternionLinear: ("weight",),
    QuaternionConv2d: ("weight",),
    NormedConv: ("weight",),
}
GATES: dict[type[nn.Module], tuple[str, ...]] = dict.fromkeys(
    (QuaternionGRU, QuaternionRNN, QuaternionLSTM), ("weight_input", "weight_hidden")
)


def convert_(network: nn.Module, algebra: str, n: int = 4) -> None:
    """Give `network` new weights of `algebra`, in place. ValueError for an unknown one, or if n does not divide."""
    if algebra not in ALGEBRAS:
        raise ValueError(f"algebra {algebra!r}: choose one of {', '.join(ALGEBRAS)}")
    if algebra == "quaternion":
        return
    for module in list(network.modules()):
        for name in WEIGHTS.get(type(module), ()):
            _replace(module, name, getattr(module, name)[None], n if algebra == "phm" else 1)
        for name in GATES.get(type(module), ()):
            _replace(module, name, getattr(module, name), n if algebra == "phm" else 1)


def quaternion_weights(network: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return the quaternion weights of WEIGHTS, (4, out, in, *kernel), and of GATES, (gates, 4, out, in)."""
    return _parameters(network, WEIGHTS), _parameters(network, GATES)


def _parameters(network: nn.Module, table: dict[type[nn.Module], tuple[str, ...]]) -> list[nn.Parameter]:
    weights = (getattr(module, name) for module in network.modules() for name in table.get(type(module), ()))
    return [weight for weight in weights if isinstance(weight, nn.Parameter)]


def _replace(module: nn.Module, name: str, weight: Tensor, n: int) -> None:
    """Replace a quaternion weight (gates, 4, out, in, *kernel) by a real or PHM one."""
    gates, _, out, into, *kernel = weight.shape
    delattr(module, name)
    setattr(module, name, HypercomplexWeight(n, 4 * out, 4 * into, tuple(kernel), gates))
