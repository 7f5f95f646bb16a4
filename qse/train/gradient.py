"""Compute the gradient of one share of a step, of a loss that is scaled in float16."""

from collections.abc import Callable
from itertools import chain

import torch
from torch import Tensor, nn

from ..data.source import Batch
from ..networks import Network
from .train_config import TrainConfig

Terms = dict[str, Tensor]
# states at the end of a step, by their path in the network; items first
Carried = dict[str, Tensor]
FIRST_SCALE = 2.0**16
GROWS_AFTER = 2000  # steps without an overflow, after which the scale doubles
PRECISIONS = {"bfloat16": torch.bfloat16, "float16": torch.float16}  # of autocast
Loss = Callable[[Network, Batch, Carried], tuple[Tensor, Terms, Carried]]
"""(network, batch, carried) -> (loss, its terms, carried to the next step)."""


def zero_gradients(network: nn.Module) -> None:
    """Set the gradients of all weights to zero, also of one that has no part in the loss."""
    for parameter in network.parameters():
        if parameter.requires_grad and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    torch._foreach_zero_(gradients(network))


def gradients(network: nn.Module) -> list[Tensor]:
    """Return the gradients of all weights that have one."""
    return [weight.grad for weight in network.parameters() if weight.grad is not None]


def mean_terms(terms: list[Terms]) -> Terms:
    """Return the means of loss and terms over shares, each over those that have it."""
    means = {}
    for name in dict.fromkeys(chain.from_iterable(terms)):
        means[name] = torch.stack([found[name] for found in terms if name in found]).mean()
    return means


class LossScale:
    """A factor of the loss, so that small gradients do not become zero: halved when a gradient is
    not finite, doubled when none was for long.

    It is 1, and stays so, unless the precision is float16. steps: without an overflow.
    """

    def __init__(self, precision: str):
        self.changes = precision == "float16"
        self.value = FIRST_SCALE if self.changes else 1.0
        self.steps = 0

    def update(self, finite: bool) -> None:
        """Adapt the scale after a step; finite: whether its gradient was."""
        if not self.changes:
            return
        self.steps = self.steps + 1 if finite else 0
        if not finite:
            self.value = max(1.0, self.value / 2)
        elif self.steps == GROWS_AFTER:
            self.value *= 2
            self.steps = 0

    def header(self) -> dict[str, str]:
        """Return what a checkpoint holds of this, as text."""
        if not self.changes:
            return {}
        return {"loss_scale": str(self.value), "scaled_steps": str(self.steps)}

    def restore(self, header: dict[str, str]) -> None:
        """Continue from the header of a checkpoint; one of another precision has no scale."""
        if self.changes and "loss_scale" in header:
            self.value = float(header["loss_scale"])
            self.steps = int(header["scaled_steps"])


class ShareGradient:
    """Add the gradient of a share to those of the network: calling it returns its loss and terms,
    and what is carried to the next step."""

    def __init__(
        self,
        network: Network,
        loss: Loss,
        config: TrainConfig,
        device: torch.device,
    ):
        self.network = network
        self.loss = loss
        self.scale = LossScale(config.precision)
        self.device = device
        self.precision = PRECISIONS.get(config.precision)
        self.shares = config.accumulate

    def __call__(self, batch: Batch, carried: Carried) -> tuple[Terms, Carried]:
        return self.of(lambda: self.loss(self.network, batch, carried))

    def of(self, forward: Callable[[], tuple[Tensor, Terms, Carried]]) -> tuple[Terms, Carried]:
        """Compute a loss by `forward`, in the precision of the run, and its gradient."""
        enabled = self.precision is not None
        with torch.autocast(self.device.type, self.precision, enabled=enabled):
            loss, terms, carried = forward()
        (loss * (self.scale.value / self.shares)).backward()
        return {name: value.detach() for name, value in {"loss": loss, **terms}.items()}, carried
