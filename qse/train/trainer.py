"""Train a network step by step. The trainer depends on the interfaces of a network, a loss and a
source of batches alone; optimizers.py assigns weights to optimisers.

A step is a pure function of what the checkpoint holds: batches and random numbers are drawn from
(seed, share, step), and the states that streams carry from step to step are part of the checkpoint.
A resumed run continues to the same numbers as an uninterrupted one.

A step trains on processes * accumulate batches, its shares, numbered from 0: process r computes the
gradients of the shares r * accumulate and following, one after another. So one process that
accumulates four batches and four processes with one each train alike.
"""

import math
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from ..data.multi_rate import WIDE_BAND
from ..data.sampling import step_seed
from ..data.source import Batch
from ..networks import Network, weights
from ..spawning import safe_path
from . import checkpoint
from .compiled import compile_in_place
from .discriminator_training import DiscriminatorTraining
from .ema import WeightEMA
from .exchange import average_, count, gather
from .gradient import Carried, Loss, ShareGradient, Terms, gradients, mean_terms, zero_gradients
from .memory import OutOfMemory, is_out_of_memory
from .optimizers import optimizers, take_step
from .statistics import RunningStatistics
from .step import Step, read
from .step_graphs import gradient_of
from .stopping import Abandonable, StepAbandoned
from .train_config import TrainConfig

NOT_CARRIED = "no carried states of this batch size: the streams of the next step start at zero"


class Trainer:
    """Train in one process of a run: `step` trains on one batch; `tensors`, `header`, `restore` are
    for checkpoints.

    batches: the batch of a step and a share. discriminator: one that is trained as well, if any.
    done: steps so far; skipped: those of them without an update, because a gradient was not finite.
    seconds: time spent on steps; heard: audio in all processes, in samples at 16 kHz, both over all
    resumes. passed: share of the time of the run, where its rate follows the clock. origin: name of
    the model whose weights were the first ones, if any.
    """

    def __init__(
        self,
        network: Network,
        loss: Loss,
        batches: Callable[[int, int], Batch],
        config: TrainConfig,
        device: torch.device,
        rank: int = 0,
        discriminator: DiscriminatorTraining | None = None,
    ):
        self.config = config
        self.batches = batches
        self.device = device
        self.rank = rank
        self.discriminator = discriminator
        self.network = network.to(device).train()
        self.ema = WeightEMA(self.network, config.ema_decay)
        if config.compile:
            compile_in_place(self.network)
        chosen = (config.optimizer, config.betas, config.weight_decay)
        self.optimizers = optimizers(self.network, *chosen)
        eager = ShareGradient(self.network, loss, config, device)
        self.scale = eager.scale
        self.gradient = gradient_of(eager, config)
        self.carried: list[Carried] = [{} for _ in range(config.accumulate)]  # of each share
        self.done = 0
        self.skipped = 0
        self.heard = 0
        self.seconds = 0.0
        self.passed = 0.0
        self.origin = ""
        self.statistics = RunningStatistics(self.network)

    def step(
        self,
        stop: bool = False,
        save: bool = False,
        passed: Callable[[], float] = float,
        abandonable: Abandonable = nullcontext,
    ) -> Step:
        """Train on the next batch.

        stop, save: what this process asks for. passed: returns the share of the time of the run
        that has passed, for a rate that follows the clock. abandonable: returns a context for the
        gradient, which may raise StepAbandoned: then the trainer of every process is as before the
        step, as after OutOfMemory, which this raises.
        """
        began = time.perf_counter()
        terms = self._gradient_or_undo(abandonable)
        grads = gradients(self.network)
        asked = torch.tensor([float(stop), float(save), passed(), float(terms is None)])
        asked = asked.to(self.device if count() > 1 else "cpu")
        average_([*grads, *self.statistics.tensors, asked])
        # a step on a GPU is never abandoned, and not read before its end
        if terms is None or (self.device.type != "cuda" and asked[-1] > 0):
            self._undo()
            return Step({}, stop=True, save=False, abandoned=True)

        torch._foreach_div_(grads, self.scale.value)
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip_norm)
        values = read({**terms, "norm": norm})
        stops, saves, share, _ = asked.tolist()
        if self.config.by_clock:
            self.passed = min(share, 1.0)
        self._update(math.isfinite(values.pop("norm")))
        if self.discriminator:
            self.discriminator.update(average_)
        self.done += 1
        self.seconds += time.perf_counter() - began
        return Step(values, stops > 0 or self.time_is_over, saves > 0)

    @property
    def time_is_over(self) -> bool:
        """Return whether a rate that follows the clock has come to its end."""
        return self.config.by_clock and self.passed >= 1

    def _gradient_or_undo(self, abandonable: Abandonable) -> Terms | None:
        """Compute gradients and statistics; None where that was abandoned. Where memory does not
        suffice, undo the step."""
        self._before = self.heard, list(self.carried)
        self.statistics.begin()
        zero_gradients(self.network)
        try:
            with safe_path(), abandonable():  # PyTorch may compile, in processes
                return self._shares()
        except StepAbandoned:
            return None
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            self._undo()
            raise OutOfMemory(self.done, error) from error

    def _undo(self) -> None:
        """Return to the state before the gradient of a step was computed."""
        self.heard, self.carried = self._before
        self.statistics.undo()
        if self.discriminator:
            self.discriminator.forget()

    def _shares(self) -> Terms:
        """Compute the gradients and statistics of this process, means over its shares; return the
        means of loss and terms."""
        terms = []
        for place in range(self.config.accumulate):
            terms.append(self._share(place))
            self.statistics.end_share()
        self.statistics.take_mean()
        return mean_terms(terms)

    def _share(self, place: int) -> Terms:
        """Add the gradients of one share to those of this process; return its loss and terms."""
        share = self.rank * self.config.accumulate + place
        torch.manual_seed(step_seed(self.config.seed, share, self.done, "training"))
        batch = self.batches(self.done, share)
        self.heard += round(batch.seconds * WIDE_BAND) * count()
        terms, self.carried[place] = self.gradient(batch, self.carried[place])
        return terms

    def _update(self, finite: bool) -> None:
        """Take one step of the optimisers; a gradient that is not finite leaves weights and
        statistics as they were."""
        self.scale.update(finite)
        if not finite:  # in every process, for they share the gradient
            self.skipped += 1
            self.statistics.restore()
            return
        take_step(self.optimizers, self.config.rate(self.done, self.passed))
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
            for share, states in enumerate(gather(checkpoint.on_cpu(self.carried))):
                parts[f"carried.{share}"] = states
        return checkpoint.joined(parts)

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
            "passed": f"{self.passed:.6f}",
            **self.scale.header(),
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
        self.passed = float(header.get("passed", 0.0))
        self.origin = header.get("origin", "")
        self.scale.restore(header)
        if self.config.carry_state_probability:
            first = self.rank * self.config.accumulate
            shares = range(first, first + self.config.accumulate)
            fits = header.get("batch") == str(self.config.batch)
            self.carried = checkpoint.carried(tensors if fits else {}, shares, self.device)
            if not all(self.carried) and self.done and self.rank == 0:
                warnings.warn(NOT_CARRIED, stacklevel=2)
