"""Assign weights to optimisers: quaternion weights to Muon, where a recipe says so, everything else
to AdamW."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer

from ..errors import QseError
from ..networks.algebra import quaternion_weights
from ..nn.declared import layer_name
from .muon import QuaternionMuon

OptimizerName = Literal["adamw", "muon"]


def optimizers(
    network: nn.Module, name: str, betas: tuple[float, float], weight_decay: float
) -> list[Optimizer]:
    """Return one or two optimisers, AdamW first; every parameter of `network` is in one of them.

    Gains and biases do not decay: a branch whose gain reached zero would stay there. Raises
    QseError where there is nothing for Muon to train.
    """
    made = []
    if name == "muon":
        weights, gates = quaternion_weights(network)
        if not weights and not gates:
            raise QseError(
                "train.optimizer muon: the model has no quaternion weights; "
                "choose adamw and a lower rate"
            )
        made.append(QuaternionMuon(weights, gates, weight_decay=weight_decay))
    taken = set()
    for optimizer in made:
        taken.update(_trained(optimizer))
    weights = list[nn.Parameter]()
    others = list[nn.Parameter]()
    for path, parameter in network.named_parameters():
        if parameter not in taken:
            decays = "weight" in path.split(".")[-1] and parameter.ndim > 1
            (weights if decays else others).append(parameter)
    groups: list[dict[str, Any]] = [{"params": weights}, {"params": others, "weight_decay": 0.0}]
    return [torch.optim.AdamW(groups, betas=betas, weight_decay=weight_decay), *made]


def assignment(made: Sequence[Optimizer]) -> str:
    """Return in a line how many tensors, and numbers in them, each optimiser trains."""
    parts = []
    for optimizer in made:
        trained = _trained(optimizer)
        numbers = sum(weight.numel() for weight in trained)
        name = type(optimizer).__name__.removeprefix("Quaternion")
        parts.append(f"{name} trains {len(trained)} tensors of {numbers:,} numbers")
    return ", ".join(parts)


def undeclared(network: nn.Module, made: Sequence[Optimizer]) -> list[str]:
    """Return a line for every weight, (4, out, in, *kernel) or (gates, 4, out, in), that Muon does
    not train because no layer declares it; none where there is no Muon."""
    muon: set[nn.Parameter] = set()
    for optimizer in made:
        if isinstance(optimizer, QuaternionMuon):
            muon.update(_trained(optimizer))
    lines = []
    for path, weight in network.named_parameters():
        quaternion = weight.ndim >= 3 and weight.shape[0] == 4
        gates = weight.ndim == 4 and weight.shape[1] == 4
        if not muon or weight in muon or not (quaternion or gates):
            continue
        layer, _, name = path.rpartition(".")
        owner = network.get_submodule(layer)
        is_real = isinstance(owner, nn.modules.conv._ConvNd)
        if is_real or name in getattr(owner, "real_weights", ()):
            continue
        of = layer_name(owner, layer)
        shape = " x ".join(map(str, weight.shape))
        declaration = "quaternion_weights" if quaternion else "quaternion_gates"
        lines.append(
            f"{of}: AdamW trains its weight {name!r}, {shape}; if that is a quaternion weight, "
            f"declare it in {declaration}, and Muon will; if not, in real_weights"
        )
    return lines


def _trained(optimizer: Optimizer) -> list[nn.Parameter]:
    return [weight for group in optimizer.param_groups for weight in group["params"]]


def take_step(made: Sequence[Optimizer], rate: float) -> None:
    """Take one step of each optimiser at a learning rate."""
    for optimizer in made:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
