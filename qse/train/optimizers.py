"""Who trains what: Muon the quaternion weights, if it is wanted, AdamW everything else."""

import torch
from torch import nn

from ..errors import QseError
from ..networks.algebra import quaternion_weights
from .muon import QuaternionMuon

NAMES = ("adamw", "muon")


def optimizers(network: nn.Module, name: str, betas: tuple[float, float], weight_decay: float) -> list:
    """One or two torch.optim.Optimizer, every parameter of `network` in one of them.

    Raises QseError where there is nothing for Muon to train.
    """
    weights, gates = quaternion_weights(network) if name == "muon" else ([], [])
    taken = {*weights, *gates}
    if name == "muon" and not taken:
        raise QseError("train.optimizer muon: the model has no quaternion weights; choose adamw and a lower rate")
    rest = [parameter for parameter in network.parameters() if parameter not in taken]
    made = [torch.optim.AdamW(rest, betas=betas, weight_decay=weight_decay)]
    return [*made, QuaternionMuon(weights, gates, weight_decay=weight_decay)] if taken else made
