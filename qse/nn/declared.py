"""Find the quaternion weights of a network by what its layers declare.

A layer names its quaternion weights in class attributes, which subclasses inherit:

    quaternion_weights = ("weight",)      (4, out, in, *kernel),
                                          used as real_matrix(self.weight)
    quaternion_gates = ("weight_input",)  (gates, 4, out, in),
                                          used as gate_matrix(self.weight_input)

Other algebras, widening, optimisers and export read these attributes. Weights that only look like
that, by their shape, are named in `real_weights`, and the start of a training does not ask for
them. Export also reads

    quaternion_axis = -2                  the axis of the components in its input and output:
                                          TOKENS (..., 4, C) or FEATURES (B, 4, C, T, F)

A layer that declares its axis may compute anything on quaternions: the exported graph converts its
input and output. A layer without an axis is a composite: its `forward` also works where the
components are channels, as indexing from the end, element-wise functions and calls of other layers
do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from ..errors import QseError
from .quaternion import gate_matrix, real_matrix

TOKENS = -2
FEATURES = 1


@dataclass(frozen=True)
class DeclaredWeight:
    """A quaternion weight: the path of its layer in the network, the layer, the name of the weight
    in it.

    gated: it is of shape (gates, 4, out, in), not (4, out, in, *kernel).
    """

    path: str
    layer: nn.Module
    name: str
    gated: bool

    @property
    def value(self) -> Tensor | nn.Module:
        """Return the weight, or the module that stands for it in another algebra."""
        return getattr(self.layer, self.name)

    @property
    def full_name(self) -> str:
        """Return the name of the weight in the network, as in `named_parameters`."""
        return f"{self.path}.{self.name}" if self.path else self.name

    @property
    def input_dim(self) -> int:
        """Return the dimension of the weight that counts its input channels."""
        return 3 if self.gated else 2

    def matrix(self) -> Tensor:
        """Return the real matrix of the weight, (out, in, *kernel), or that of all gates,
        (gates * out, in)."""
        return gate_matrix(self.value) if self.gated else real_matrix(self.value)


def declared_weights(network: nn.Module) -> Iterator[DeclaredWeight]:
    """Yield the declared quaternion weights of all layers below `network`.

    Raises QseError, which names the layer, for one that it lacks or that is of another shape.
    """
    for path, layer in network.named_modules():
        yield from weights_of_layer(layer, path)


def weights_of_layer(layer: nn.Module, path: str = "") -> list[DeclaredWeight]:
    """Return the quaternion weights that a layer declares itself; raises as `declared_weights`
    does."""
    weights = []
    for name in getattr(layer, "quaternion_weights", ()):
        weights.append(DeclaredWeight(path, layer, name, gated=False))
    for name in getattr(layer, "quaternion_gates", ()):
        weights.append(DeclaredWeight(path, layer, name, gated=True))
    for weight in weights:
        _check(weight)
    return weights


def layer_name(layer: nn.Module, path: str) -> str:
    """Return the name of a layer in messages: its path in the network, and its class."""
    kind = type(layer).__name__
    return f"layer {path} ({kind})" if path else kind


def _check(weight: DeclaredWeight) -> None:
    value = getattr(weight.layer, weight.name, None)
    if isinstance(value, nn.Module):
        return
    axis = 1 if weight.gated else 0
    expected = "(gates, 4, out, in)" if weight.gated else "(4, out, in, *kernel)"
    fits = isinstance(value, Tensor) and value.ndim >= 3 + axis and value.shape[axis] == 4
    if not fits:
        found = f"has shape {tuple(value.shape)}" if isinstance(value, Tensor) else "is missing"
        where = layer_name(weight.layer, weight.path)
        raise QseError(
            f"{where}: its quaternion weight {weight.name!r} {found}, expected {expected}; "
            "correct the layer"
        )
