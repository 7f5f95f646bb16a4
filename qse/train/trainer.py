"""The training loop. It knows a network, a loss and a source of batches, and nothing of what they are made of; which
optimiser takes which weight, optimizers.py knows.

A step is a pure function of what the checkpoint holds: batches and random numbers are drawn from (seed, rank, step),
so a resumed run continues to the same numbers as an uninterrupted one. What `carried` hands from step to step is not in
it.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from ..networks import weights
from . import checkpoint
from .optimizers import NAMES, optimizers
from .parallel import average_, count

Loss = Callable[[nn.Module, Tensor, Tensor], tuple[Tensor, dict[str, Tensor]]]  # network, noisy, clean -> total, terms


@dataclass(frozen=True)
class TrainConfig:
    """Optimiser, schedule and rhythm. `batch` counts segments per process and step."""

    seed: int = 0
    batch: int = 2
    steps: int = 0  # 0: as many as `epochs` take
    epochs: int = 1  # times that the source's segments are gone through, where `steps` is 0
    warmup_steps: int = 300  # of linear rise
    plateau_steps: int = 0  # step at which the cosine decay begins, if after the rise
    learning_rate: float = 1e-3
    optimizer: str = "adamw"  # or muon, for the quaternion weights
    betas: tuple[float, float] = (0.9, 0.99)  # of AdamW
    weight_decay: float = 0.01
    clip_norm: float = 1.0  # largest norm of the gradient
    ema_decay: float = 0.999  # of the exponential moving average of the weights
    precision: str = "float32"  # or bfloat16: autocast of the network; losses stay in float32
    carry_state_probability: float = 0.0  # that an item starts from the state after the step before
    compile: bool = False
    checkpoint_every: int = 250
    valid_every: int = 1000

    def __post_init__(self) -> None:
        if self.precision not in ("float32", "bfloat16"):
            raise ValueError(f"precision {self.precision!r}: choose float32 or bfloat16")
        if self.optimizer not in NAMES:
            raise ValueError(f"optimizer {self.optimizer!r}: choose {' or '.join(NAMES)}")
        if not 0 <= self.carry_state_probability <= 1:
            raise ValueError(f"carry_state_probability {self.carry_state_probability}: must be from 0 to 1")
        if not self.clip_norm > 0:
            raise ValueError(f"clip_norm {self.clip_norm}: must be above 0; inf never clips")
        if not self.weight_decay >= 0:
            raise ValueError(f"weight_decay {self.weight_decay}: must be at least 0")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate {self.learning_rate}: must be above 0")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas {list(self.betas)}: two numbers, from 0 to below 1")
        least = dict.fromkeys(("batch", "epochs", "checkpoint_every", "valid_every"), 1)
        for name, bound in {**least, "steps": 0, "warmup_steps": 0, "plateau_steps": 0}.items():
            if getattr(self, name) < bound:
                raise ValueError(f"{name} {getattr(self, name)}: must be at least {bound}")

    def counted(self, segments: int, processes: int) -> "TrainConfig":
        """The same with `steps`, where they are not given: `epochs` times the whole batches of `segments`."""
        steps = self.steps or self.epochs * max(1, segments // (self.batch * processes))
        return replace(self, steps=steps)

    def rate(self, step: int) -> float:
        """The learning rate of a step: linear rise, plateau, cosine to zero at `steps`."""
        start = max(self.plateau_steps, self.warmup_steps)
        fall = min(max(0.0, (step - start) / max(1, self.steps - start)), 1.0)
        return self.learning_rate * min(1.0, (step + 1) / max(1, self.warmup_steps)) * 0.5 * (1 + math.cos(math.pi * fall))


def moving_average(decay: float) -> Callable[[Sequence[Tensor], Sequence[Tensor], Tensor | int], None]:
    """An exponential moving average that starts short: after n updates the decay is at most (1 + n) / (10 + n).

    So the first weights are forgotten at once; a constant decay of 0.999 would keep a tenth of them for 2300 steps.
    """

    @torch.no_grad()
    def update(averages: Sequence[Tensor], values: Sequence[Tensor], updates: Tensor | int) -> None:
        share = max(1 - decay, 9 / (10 + int(updates)))
        for average, value in zip(averages, values, strict=True):
            average.lerp_(value, share) if average.is_floating_point() else average.copy_(value)

    return update


class Trainer:
    """One process's part of a run: `step()` trains on one batch, `tensors`, `header` and `restore` carry it over."""

    def __init__(
        self,
        network: nn.Module,
        loss: Loss,
        batches: Callable[[int], tuple[Tensor, Tensor]],
        config: TrainConfig,
        device: torch.device,
        rank: int = 0,
    ):
        self.config, self.loss, self.batches, self.device, self.rank = config, loss, batches, device, rank
        self.network = network.to(device).train()
        self.average = AveragedModel(self.network, multi_avg_fn=moving_average(config.ema_decay), use_buffers=True)
        if config.compile:
            self.network.compile()  # in place: it keeps its type and its names
        self.optimizers = optimizers(self.network, config.optimizer, config.betas, config.weight_decay)
        self.done = 0  # steps
        self.origin = ""  # the model whose weights were the first, if any
        self.skipped = 0  # of them left out because a gradient was not finite
        self.seconds = 0.0  # of training, over all resumes
        self.heard = 0  # samples of noisy, by all processes
        self._stop = torch.zeros(1, device=device)  # above 0 when any process wants to stop
        kept = self.network.state_dict()
        self._statistics = [b for name, b in self.network.named_buffers() if name in kept and b.is_floating_point()]

    def step(self, stop: bool = False) -> tuple[dict[str, float], bool]:
        """Trains on the next batch; returns its loss and terms, and whether any process wanted to stop."""
        began = time.perf_counter()
        torch.manual_seed(hash((self.config.seed, self.rank, self.done)))
        before = [statistic.clone() for statistic in self._statistics]
        noisy, clean = self.batches(self.done)
        self.heard += noisy.numel() * count()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
            total, terms = self.loss(self.network, noisy, clean)
        self.network.zero_grad(set_to_none=False)
        total.backward()
        self._stop.fill_(float(stop))
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        average_([*gradients, *self._statistics, self._stop])
        self._update(before)
        self.done += 1
        values = {"loss": total.item(), **{name: term.item() for name, term in terms.items()}}
        self.seconds += time.perf_counter() - began  # behind the values, for which a GPU is waited
        return values, bool(self._stop > 0)

    def _update(self, before: list[Tensor]) -> None:
        """One step of the optimiser; a gradient that is not finite leaves weights and statistics as they were."""
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip_norm)
        if not torch.isfinite(norm):  # the same in every process, for the gradient is
            self.skipped += 1
            for statistic, value in zip(self._statistics, before, strict=True):
                statistic.copy_(value)
            return
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.config.rate(self.done)
            optimizer.step()
        self.average.update_parameters(self.network)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that a checkpoint holds."""
        parts = {
            "model": self.network.state_dict(),
            "average": self.average.module.state_dict(),
            "optimizer": checkpoint.optimizer_tensors(self.network, self.optimizers),
        }
        return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}

    def header(self) -> dict[str, str]:
        return {
            "step": str(self.done),
            "steps": str(self.config.steps),  # of the whole run
            "origin": self.origin,
            "skipped": str(self.skipped),
            "seconds": f"{self.seconds:.3f}",
            "heard": str(self.heard),
            "averaged": str(int(self.average.n_averaged)),
        }

    def begin(self, origin: str, header: dict[str, str]) -> None:
        """Counts what the weights of `origin`, with which the network came, have cost: their file's header."""
        self.origin, self.heard, self.seconds = origin, int(header.get("heard", 0)), float(header.get("seconds", 0.0))

    def restore(self, tensors: dict[str, Tensor], header: dict[str, str]) -> None:
        """Continues where the checkpoint was written."""
        self.network.load_state_dict(weights.pick(tensors, "model"))
        self.average.module.load_state_dict(weights.pick(tensors, "average"))
        checkpoint.restore_optimizers(self.network, self.optimizers, weights.pick(tensors, "optimizer"))
        self.average.n_averaged.fill_(int(header["averaged"]))
        self.done, self.skipped, self.heard = (int(header[key]) for key in ("step", "skipped", "heard"))
        self.seconds, self.origin = float(header["seconds"]), header.get("origin", "")
