"""Configure a training run: the `[train]` table of a recipe, and its learning rate schedule."""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from .optimizers import OptimizerName

Precision = Literal["float32", "bfloat16", "float16"]
FROM_ONE = ("batch", "accumulate", "epochs", "checkpoint_every", "valid_every")
FROM_ZERO = (
    "steps",
    "warmup_steps",
    "plateau_steps",
    "epoch_hours",
    "valid_hours",
    "mix_ahead",
    "mix_processes",
    "valid_processes",
    "checkpoint_minutes",
)
FRACTIONS = ("carry_state_probability", "two_grids_share", "plateau_share", "ema_decay")


@dataclass(frozen=True)
class TrainConfig:
    """Optimiser, schedule, and intervals.

    `batch` counts segments, of which a process takes `accumulate` times as many in a step.
    """

    seed: int = 0
    batch: int = 2
    accumulate: int = 1  # batches per process whose gradients are averaged for a step
    steps: int = 0  # 0: as many as `epochs` take
    epochs: int = 1  # where `steps` is 0
    epoch_hours: float = 0.0  # of audio per epoch; 0: as much as the source has
    warmup_steps: int = 300  # of linear rise
    plateau_steps: int = 0  # at the full rate, those of the rise included, before the cosine decay
    # the rate follows the time limit, not `steps`: full, then a cosine to zero at the end
    by_clock: bool = False
    plateau_share: float = 0.4  # of the time limit at the full rate, where `by_clock`
    learning_rate: float = 1e-3
    optimizer: OptimizerName = "adamw"  # muon: for the quaternion weights
    betas: tuple[float, float] = (0.9, 0.99)  # of AdamW
    weight_decay: float = 0.01
    clip_norm: float = 1.0  # largest norm of the gradient
    ema_decay: float = 0.999  # of the exponential moving average of the weights
    precision: Precision = "float32"  # of the network, by autocast; losses stay in float32
    tf32: bool = False  # 10 bits of mantissa in products and convolutions in float32 on a GPU
    # that an item starts from the state at the end of the step before
    carry_state_probability: float = 0.0
    wide_band_share: float = 0.5  # of the steps of a network above 16 kHz that train it at 16 kHz
    # frames, one of them drawn for every step; (): those of the model
    look_ahead: tuple[int, ...] = ()
    # of the steps that train the mean of two grids of frames, as `qse export --two-grids` writes it
    two_grids_share: float = 0.0
    # train the bands of the highest range alone; weight_decay must be 0
    highest_range_only: bool = False
    compile: bool = False
    graphs: bool = True  # record the steps on a GPU as CUDA graphs
    checkpoint_every: int = 250  # steps
    checkpoint_minutes: float = 0.0  # also so often; 0: by steps alone
    valid_every: int = 1000  # steps
    valid_hours: float = 0.0  # of audio from validation to validation, in place of valid_every
    # that score pairs while the network enhances the next ones; 0: the training itself
    valid_processes: int = 0
    mix_ahead: int = 0  # batches that are mixed while the network trains on another
    mix_processes: int = 0  # that mix them; 0: a thread
    tensorboard: bool = False  # also write the curves for TensorBoard, into RUN/tensorboard

    def __post_init__(self) -> None:
        for name, kind in (("precision", Precision), ("optimizer", OptimizerName)):
            if getattr(self, name) not in get_args(kind):
                *others, last = get_args(kind)
                known = f"{', '.join(others)} or {last}"
                raise ValueError(f"{name} {getattr(self, name)!r}: choose {known}")
        for name in FRACTIONS:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} {getattr(self, name)}: must be from 0 to 1")
        if self.mix_processes and not self.mix_ahead:
            raise ValueError("mix_processes: they mix batches ahead; set mix_ahead to 2 or more")
        if self.highest_range_only and (self.weight_decay or self.wide_band_share):
            raise ValueError("highest_range_only: set weight_decay and wide_band_share to 0")
        if not 0 <= self.wide_band_share < 1:
            raise ValueError(f"wide_band_share {self.wide_band_share}: must be from 0 to below 1")
        if not self.clip_norm > 0:
            raise ValueError(f"clip_norm {self.clip_norm}: must be above 0; inf never clips")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay {self.weight_decay}: must be at least 0, and finite")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate {self.learning_rate}: must be above 0, and finite")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas {list(self.betas)}: two numbers, from 0 to below 1")
        least = dict.fromkeys(FROM_ONE, 1) | dict.fromkeys(FROM_ZERO, 0)
        for name, bound in least.items():
            if not bound <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} {getattr(self, name)}: must be at least {bound}")

    def counted(self, segments: int, seconds: float, processes: int) -> "TrainConfig":
        """Return the same with the numbers of steps that follow from those of hours and epochs.

        segments: of the source, in one epoch; seconds: of a segment.
        """
        together = self.batch * self.accumulate * processes
        if self.epoch_hours:
            segments = round(3600 * self.epoch_hours / seconds)
        steps = self.steps or self.epochs * max(1, segments // together)
        if self.by_clock:
            steps = 0  # as many as there is time for
        every = self.valid_every
        if self.valid_hours:
            every = max(1, round(3600 * self.valid_hours / seconds / together))
        return replace(self, steps=steps, valid_every=every)

    def rate(self, step: int, passed: float = 0.0) -> float:
        """Return the learning rate of a step: linear rise, plateau, cosine to zero at `steps`.

        passed: share of the time limit, at whose end it is zero where `by_clock`.
        """
        rise = min(1.0, (step + 1) / max(1, self.warmup_steps))
        if self.by_clock:
            fall = (passed - self.plateau_share) / max(1e-9, 1 - self.plateau_share)
        else:
            start = max(self.plateau_steps, self.warmup_steps)
            fall = (step - start) / max(1, self.steps - start)
        fall = min(max(0.0, fall), 1.0)
        return self.learning_rate * rise * 0.5 * (1 + math.cos(math.pi * fall))
