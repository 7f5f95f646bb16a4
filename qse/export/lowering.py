"""Lower a network: replace every layer by its real form (real_form.py), fold batch norms into
convolutions."""

import copy
from traceback import walk_tb
from typing import Any

import torch
from torch import nn

from ..errors import QseError
from ..networks import Network
from ..nn.declared import layer_name

# these modules register real forms
from . import real_layers, real_streaming  # noqa: F401
from .real_form import (
    CURE,
    NoRealForm,
    adapt,
    interleave,
    real_form,
    register,
    with_children,
    with_real_children,
)

__all__ = ["adapt", "interleave", "lower", "register", "with_children", "with_real_children"]


@torch.no_grad()
def lower(network: nn.Module) -> nn.Module:
    """Return a copy of a streaming or offline `network`, in eval mode, that computes the same on
    real layers.

    Raises QseError, which names the layer, for one that cannot be lowered.
    """
    consumed = copy.deepcopy(network).eval()
    paths = _paths(consumed)
    try:
        lowered = real_form(consumed)
    except NoRealForm as error:
        raise QseError(
            f"{layer_name(error.layer, paths[id(error.layer)])} {error.reason}"
        ) from error
    if isinstance(network, Network):
        _try(network, lowered)
    return lowered


def _try(network: Network, lowered: nn.Module) -> None:
    """Run the lowered network once. Raises QseError, which names the layer, where that fails."""
    hops = 1 if network.streams else 16
    kind = next((parameter.dtype for parameter in network.parameters()), torch.float32)
    audio = torch.zeros(1, hops * network.config.hop_length, dtype=kind)
    try:
        lowered(audio)
    except Exception as error:
        where = _failing_layer(error, lowered)
        reason = " ".join(str(error).split())
        raise QseError(
            f"{where} cannot be exported, it fails on real numbers ({reason}): {CURE}"
        ) from error


def _paths(network: nn.Module) -> dict[int, str]:
    """Return the path of every layer in the network by the layer's `id`."""
    return {id(layer): path for path, layer in network.named_modules()}


def _failing_layer(error: BaseException, network: nn.Module) -> str:
    """Return the name of the innermost layer, besides those of torch, in which an error came up."""
    paths = _paths(network)
    found: nn.Module = network
    for frame, _ in walk_tb(error.__traceback__):
        layer: Any = frame.f_locals.get("self")
        if id(layer) in paths and not type(layer).__module__.startswith("torch."):
            found = layer
    return layer_name(found, paths[id(found)])
