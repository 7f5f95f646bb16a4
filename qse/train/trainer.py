"""Train a network step by step. The trainer depends on the interfaces of a network, a loss and a
source of batches alone; optimizers.py assigns weights to optimisers.

A step is a pure function of what the checkpoint holds: batches and random numbers are drawn from
(seed, rank, step), and the states that streams carry from step to step are part of the checkpoint.
A resumed run continues to the same numbers as an uninterrupted one.
"""

import math
import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..data.multi_rate import WIDE_BAND
from ..data.sampling import step_seed
from ..data.source import Batch
from ..networks import Network, weights
from . import checkpoint
from .discriminator_training import DiscriminatorTraining
from .ema import WeightEMA, copy_
from .optimizers import optimizers
from .parallel import average_, count, gather
from .train_config import TrainConfig

Terms = dict[str, Tensor]
# states at the end of a step, by their path in the network; items first
Carried = dict[str, Tensor]
Loss = Callable[[Network, Batch, Carried], tuple[Tensor, Terms, Carried]]
"""(network, batch, carried) -> (loss, its terms, carried to the next step)."""


class Trainer:
    """Train in one process of a run: `step` trains on one batch; `tensors`, `header`, `restore` are
    for checkpoints.

    batches: the batch of a step. discriminator: the one that is trained as well, if any. done:
    steps so far; skipped: those of them without an update, because a gradient was not finite.
    seconds: time spent on steps; heard: audio in all processes, in samples at 16 kHz, both over all
    resumes. origin: name of the model whose weights were the first ones, if any.
    """

    def __init__(
        self,
        network: Network,
        loss: Loss,
        batches: Callable[[int], Batch],
        config: TrainConfig,
        device: torch.device,
        rank: int = 0,
        discriminator: DiscriminatorTraining | None = None,
    ):
        self.config = config
        self.loss = loss
        self.batches = batches
        self.device = device
        self.rank = rank
        self.discriminator = discriminator
        self.network = network.to(device).train()
        self.ema = WeightEMA(self.network, config.ema_decay)
        if config.compile:
            self.network.compile()  # in place: it keeps its type and its names
        self.optimizers = optimizers(
            self.network, config.optimizer, config.betas, config.weight_decay
        )
        self.carried: Carried = {}
        self.done = 0
        self.skipped = 0
        self.heard = 0
        self.seconds = 0.0
        self.origin = ""
        kept = self.network.state_dict()
        self._statistics: list[Tensor] = []  # of batch norms
        for name, buffer in self.network.named_buffers():
            if name in kept and buffer.is_floating_point():
                self._statistics.append(buffer)
        self._statistics_before = [statistic.clone() for statistic in self._statistics]

    def step(self, stop: bool = False) -> tuple[dict[str, float], bool]:
        """Train on the next batch; return its loss and terms, and whether any process asked to
        `stop`."""
        began = time.perf_counter()
        torch.manual_seed(step_seed(self.config.seed, self.rank, self.done))
        copy_(self._statistics_before, self._statistics)
        batch = self.batches(self.done)
        self.heard += round(batch.seconds * WIDE_BAND) * count()
        with torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"
        ):
            total, terms, self.carried = self.loss(self.network, batch, self.carried)
        gradients = self._backward(total)
        stops = torch.full((1,), float(stop), device=self.device if count() > 1 else "cpu")
        average_([*gradients, *self._statistics, stops])
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip_norm)
        values = _read({"loss": total, **terms, "norm": norm})
        self._update(math.isfinite(values.pop("norm")))
        if self.discriminator:
            self.discriminator.update(average_)
        self.done += 1
        self.seconds += time.perf_counter() - began
        return values, bool(stops > 0)

    def _backward(self, total: Tensor) -> list[Tensor]:
        """Return the gradients of this loss: zeros where a parameter had no part in it."""
        for parameter in self.network.parameters():
            if parameter.requires_grad and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        torch._foreach_zero_(self._gradients())
        total.backward()
        return self._gradients()

    def _gradients(self) -> list[Tensor]:
        gradients = []
        for parameter in self.network.parameters():
            if parameter.grad is not None:
                gradients.append(parameter.grad)
        return gradients

    def _update(self, finite: bool) -> None:
        """Take one step of the optimisers; a gradient that is not finite leaves weights and
        statistics as they were."""
        if not finite:  # in every process, for they share the gradient
            self.skipped += 1
            copy_(self._statistics, self._statistics_before)
            return
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.config.rate(self.done)
            optimizer.step()
        self.ema.update()

    def tensors(self) -> dict[str, Tensor]:
        """Return everything that a checkpoint holds.

        All processes must call it: each has carried states of its own.
        """
        parts = {
            "model": self.network.state_dict(),
            "average": self.ema.network.state_dict(),
            "optimizer": checkpoint.optimizer_tensors(self.network, self.optimizers),
        }
        if self.discriminator:
            parts["discriminator"] = self.discriminator.tensors()
        if self.config.carry_state_probability:
            carried = {name: state.cpu() for name, state in self.carried.items()}
            for rank, states in enumerate(gather([carried])):
                parts[f"carried.{rank}"] = states
        tensors = {}
        for part, values in parts.items():
            for name, value in values.items():
                tensors[f"{part}.{name}"] = value
        return tensors

    def header(self) -> dict[str, str]:
        """Return the numbers of a checkpoint, as text; `steps` are those of the whole run."""
        return {
            "step": str(self.done),
            "steps": str(self.config.steps),
            "batch": str(self.config.batch),
            "origin": self.origin,
            "skipped": str(self.skipped),
            "seconds": f"{self.seconds:.3f}",
            "heard": str(self.heard),
            "averaged": str(self.ema.updates),
        }

    def begin(self, origin: str, header: dict[str, str]) -> None:
        """Count the training of the weights that the network started from: `header` of the file of
        model `origin`."""
        self.origin = origin
        self.heard = int(header.get("heard", 0))
        self.seconds = float(header.get("seconds", 0.0))

    def restore(self, tensors: dict[str, Tensor], header: dict[str, str]) -> None:
        """Continue where the checkpoint was written.

        Warns where it lacks the carried states of this process.
        """
        self.network.load_state_dict(weights.pick(tensors, "model"))
        self.ema.network.load_state_dict(weights.pick(tensors, "average"))
        checkpoint.restore_optimizers(
            self.network, self.optimizers, weights.pick(tensors, "optimizer")
        )
        if self.discriminator:
            self.discriminator.restore(weights.pick(tensors, "discriminator"))
        self.ema.updates = int(header["averaged"])
        self.done = int(header["step"])
        self.skipped = int(header["skipped"])
        self.heard = int(header["heard"])
        self.seconds = float(header["seconds"])
        self.origin = header.get("origin", "")
        if self.config.carry_state_probability:
            self._restore_carried(weights.pick(tensors, f"carried.{self.rank}"), header)

    def _restore_carried(self, carried: Carried, header: dict[str, str]) -> None:
        fits = header.get("batch") == str(self.config.batch)
        if not (carried and fits) and self.done and self.rank == 0:
            text = (
                "the checkpoint has no carried states of this batch size:"
                " the streams of the next step start at zero"
            )
            warnings.warn(text, stacklevel=3)
        if not fits:
            carried = {}
        self.carried = {name: state.to(self.device) for name, state in carried.items()}


def _read(values: dict[str, Tensor]) -> dict[str, float]:
    """Return scalars as numbers, by a single read of the device, because each read waits for it."""
    numbers = torch.stack([value.detach().double() for value in values.values()]).tolist()
    return dict(zip(values, numbers, strict=True))
