"""Assign weights to optimisers: quaternion weights to Muon, where a recipe says so, everything else
to AdamW."""

from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from ..errors import QseError
from ..networks.algebra import quaternion_weights
from .muon import QuaternionMuon

NAMES = ("adamw", "muon")


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
        for group in optimizer.param_groups:
            taken.update(group["params"])
    weights = list[nn.Parameter]()
    others = list[nn.Parameter]()
    for path, parameter in network.named_parameters():
        if parameter not in taken:
            decays = "weight" in path.split(".")[-1] and parameter.ndim > 1
            (weights if decays else others).append(parameter)
    groups: list[dict[str, Any]] = [{"params": weights}, {"params": others, "weight_decay": 0.0}]
    return [torch.optim.AdamW(groups, betas=betas, weight_decay=weight_decay), *made]
