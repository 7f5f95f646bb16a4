"""Lower a quaternion network to real layers, as an exported graph computes it.

A lowered network has no quaternion axis: features are (B, C, T, F), tokens (..., C), with the four
components of a quaternion channel adjacent ("interleaved"), so that joining, splitting and counting
channels mean the same as before.

`real_form(layer)` returns a layer's real form:

1. A registered one, of the layer's class or the nearest base. `register` is for forms that replace
   the layer; they do not hold for a subclass that overrides a method. `adapt` is for forms that
   keep the layer and its `forward`.
2. Of a layer that declares `quaternion_axis` (nn/declared.py): the layer as it is, with converted
   input and output.
3. Of a composite: the layer itself with real children, one `forward` for training, streaming and
   export.

A layer with quaternion weights of its own and none of the first two is refused by name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import isfunction
from typing import Any, TypeVar

from torch import Tensor, nn

from ..errors import QseError
from ..nn.declared import declared_weights, layer_name, weights_of_layer
from ..nn.state import State, Stateful

Module = TypeVar("Module", bound=nn.Module)
Lower = Callable[..., nn.Module]

CURE = (
    "declare quaternion_axis = -2 if it maps quaternion tokens (..., 4, C), "
    "or 1 if it maps features (B, 4, C, T, F),"
    " or register a real form of it with qse.export.register"
)


@dataclass(frozen=True)
class Form:
    """A registered real form. replaces: its result has another `forward` than the layer."""

    lower: Lower
    replaces: bool


FORMS: dict[type[nn.Module], Form] = {}


def register(kind: type[nn.Module], lower: Lower | None = None) -> Any:
    """Register `lower(layer) -> nn.Module` as the real form of a class and its subclasses; a
    decorator without it."""
    return _entered(kind, lower, replaces=True)


def adapt(kind: type[nn.Module], lower: Lower | None = None) -> Any:
    """Register `lower(layer)`, which changes the layer's parts and keeps its `forward`; a decorator
    without it."""
    return _entered(kind, lower, replaces=False)


def _entered(kind: type[nn.Module], lower: Lower | None, *, replaces: bool) -> Any:
    def enter(lower: Lower) -> Lower:
        FORMS[kind] = Form(lower, replaces)
        return lower

    return enter if lower is None else enter(lower)


class NoRealForm(QseError):
    """A layer has quaternion weights and no real form.

    `layer` and `reason`, without the place of the layer.
    """

    def __init__(self, layer: nn.Module, reason: str):
        self.layer = layer
        self.reason = reason
        super().__init__(f"{layer_name(layer, '')} {reason}")


def real_form(layer: nn.Module) -> nn.Module:
    """Return `layer` on real numbers, in eval mode; the layer is consumed, as its parts may be used
    in the result.

    Raises NoRealForm for a layer that cannot be lowered.
    """
    for kind in type(layer).__mro__:
        form = FORMS.get(kind)
        if form and not (form.replaces and _overrides(type(layer), kind)):
            return form.lower(layer)
    axis = getattr(layer, "quaternion_axis", None)
    if axis is not None:
        if isinstance(layer, Stateful):
            return StreamOnQuaternions(layer, axis)
        return OnQuaternions(layer, axis)
    weights = ", ".join(weight.name for weight in weights_of_layer(layer))
    if weights:
        raise NoRealForm(layer, f"has quaternion weights ({weights}) and no real form: {CURE}")
    return with_real_children(layer)


def _overrides(kind: type, base: type) -> bool:
    """Return whether a class overrides a method of `base`, so that its instances may compute
    something else."""
    for name, method in vars(base).items():
        if name != "__init__" and isfunction(method) and getattr(kind, name) is not method:
            return True
    return False


def with_real_children(layer: Module) -> Module:
    """Replace every child by its real form."""
    for name, child in list(layer.named_children()):
        layer.add_module(name, real_form(child))
    return layer


def with_children(layer: Module, /, **children: nn.Module) -> Module:
    """Replace children by name."""
    for name, child in children.items():
        layer.add_module(name, child)
    return layer


def interleave(x: Tensor, dim: int = 0) -> Tensor:
    """Reorder `dim` from components outside channels, (4, C), to components inside channels,
    (C, 4)."""
    return x.unflatten(dim, (4, -1)).transpose(dim, dim + 1).flatten(dim, dim + 1)


def quaternions(x: Tensor, axis: int = -2) -> Tensor:
    """Convert interleaved tokens (..., C) to quaternion tokens (..., 4, C / 4); of axis 1,
    features."""
    if axis == -2:
        return x.unflatten(-1, (-1, 4)).mT
    return x.unflatten(axis, (-1, 4)).transpose(axis, axis + 1)


def reals(x: Tensor, axis: int = -2) -> Tensor:
    """Convert quaternion tokens (..., 4, C / 4) to interleaved tokens (..., C); of axis 1,
    features."""
    if axis == -2:
        return x.mT.flatten(-2)
    return x.transpose(axis, axis + 1).flatten(axis, axis + 1)


class Constant(nn.Module):
    """Return the real matrix of a quaternion weight: () -> matrix, the interface of weights of
    another algebra."""

    matrix: Tensor

    def __init__(self, matrix: Tensor):
        super().__init__()
        self.register_buffer("matrix", matrix)

    def forward(self) -> Tensor:
        return self.matrix


def constant_weights_(layer: nn.Module) -> None:
    """Replace all quaternion weights below `layer` by constant real matrices; its `forward` stays
    the same."""
    for weight in list(declared_weights(layer)):
        matrix = weight.matrix()
        delattr(weight.layer, weight.name)
        weight.layer.add_module(weight.name, Constant(matrix))


class OnQuaternions(nn.Module):
    """Apply a layer without state on quaternions to real tokens or features, (N, L, C) or
    (B, C, T, F)."""

    def __init__(self, layer: nn.Module, axis: int = -2):
        super().__init__()
        constant_weights_(layer)
        self.layer = layer
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return reals(self.layer(quaternions(x, self.axis)), self.axis)


class StreamOnQuaternions(Stateful):
    """Apply a streaming layer on quaternions to real tokens or features. State: the layer's."""

    def __init__(self, layer: Stateful, axis: int = -2):
        super().__init__()
        constant_weights_(layer)
        self.layer = layer
        self.axis = axis
        self.look_ahead = layer.look_ahead

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        y, state = self.layer(quaternions(x, self.axis), state)
        return reals(y, self.axis), state
