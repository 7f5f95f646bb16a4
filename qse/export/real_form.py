"""Lower a quaternion network to real layers, as an exported graph computes it.

A lowered network has no quaternion axis: features are (B, C, T, F), tokens (..., C), with the four components of a
quaternion channel adjacent ("interleaved"), so that joining, splitting and counting channels mean the same as before.

`real_form(layer)` returns a layer's real form. Its default is the layer itself with real children: composites keep
their `forward`, one body for training, streaming and export. A layer whose arithmetic changes registers another form
beside that form's definition (real_layers, real_attention, real_streaming, real_offline). Registration is by
functools.singledispatch, rather than by a method, so that `nn` and `networks` hold no export code; a subclass gets the
form of its base, and a new layer needs no change of any table.
"""

from functools import singledispatch
from typing import TypeVar

from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


@singledispatch
def real_form(layer: nn.Module) -> nn.Module:
    """Return `layer` on real numbers, in eval mode; the layer is consumed, as its parts may be used in the result."""
    return with_real_children(layer)


def with_real_children(layer: Module) -> Module:
    """Replace every child by its real form."""
    return with_children(layer, **{name: real_form(child) for name, child in layer.named_children()})


def with_children(layer: Module, **children: nn.Module) -> Module:
    """Replace children by name."""
    for name, child in children.items():
        layer.add_module(name, child)
    return layer


def interleave(x: Tensor, dim: int = 0) -> Tensor:
    """Reorder `dim` from components outside channels, (4, C), to components inside channels, (C, 4)."""
    return x.unflatten(dim, (4, -1)).transpose(dim, dim + 1).flatten(dim, dim + 1)


def quaternions(x: Tensor) -> Tensor:
    """Convert interleaved tokens (..., C) to quaternion tokens (..., 4, C / 4)."""
    return x.unflatten(-1, (-1, 4)).mT


def reals(x: Tensor) -> Tensor:
    """Convert quaternion tokens (..., 4, C / 4) to interleaved tokens (..., C)."""
    return x.mT.flatten(-2)
