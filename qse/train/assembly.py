"""Put a trainer together from the settings of a run."""

from collections.abc import Callable

import torch
from torch import nn

from ..data.source import Batch
from ..losses.weighted_sum import WeightedSum
from ..networks import Network
from ..nn.band_split import BandSplit
from .discriminator_training import DiscriminatorTraining
from .stateful_training import TrainingLoss
from .train_config import TrainConfig
from .trainer import Trainer


def trainer_of(
    network: Network,
    objective: WeightedSum,
    plan: TrainConfig,
    batches: Callable[[int, int], Batch],
    device: torch.device,
    rank: int = 0,
) -> Trainer:
    """Return what trains `network` in place, by `objective`, on batches(step, share)."""
    discriminator = None
    if objective.needs_discriminator:
        discriminator = DiscriminatorTraining(plan.seed, device)
    loss = TrainingLoss(
        objective,
        plan.carry_state_probability,
        plan.look_ahead,
        discriminator.loss if discriminator else None,
        plan.two_grids_share,
    )
    trainer = Trainer(network, loss, batches, plan, device, rank, discriminator)
    if plan.highest_range_only:
        train_highest_range_only_(trainer.network)
    return trainer


def train_highest_range_only_(network: nn.Module) -> None:
    """Fix all weights but those of the highest range of bands, and the statistics of all batch
    norms.

    Below that range the network computes the same before and after training, at the sample rate
    where it ends. Raises ValueError for a network without several ranges.
    """
    splits = [module for module in network.modules() if isinstance(module, BandSplit)]
    if not splits or len(splits[0].ranges) < 2:
        raise ValueError(
            "highest_range_only needs a streaming network with several ranges of bands"
        )
    highest = len(splits[0].ranges) - 1
    # bands of the bottleneck
    kept = sum(bins // width for bins, width in splits[0].ranges[:highest]) // 4
    for name, parameter in network.named_parameters():
        if name.endswith(".band"):
            parameter.register_hook(
                lambda gradient: torch.cat([torch.zeros_like(gradient[:kept]), gradient[kept:]])
            )
        elif f".convs.{highest}." not in name and f".ups.{highest}." not in name:
            parameter.requires_grad_(False)
    network.eval()
