"""Put a trainer together from the settings of a run."""

from collections.abc import Callable

import torch

from ..data.source import Batch
from ..losses.weighted_sum import WeightedSum
from ..networks import Network
from .discriminator_training import DiscriminatorTraining
from .highest_range import train_highest_range_only_
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
