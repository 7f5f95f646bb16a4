"""Configure a training run: the `[train]` table of a recipe, and its learning rate schedule."""

import math
from dataclasses import dataclass, replace

from .optimizers import NAMES


@dataclass(frozen=True)
class TrainConfig:
    """Optimiser, schedule, and intervals. `batch` counts segments per process and step."""

    seed: int = 0
    batch: int = 2
    steps: int = 0  # 0: as many as `epochs` take
    epochs: int = 1  # passes over the segments of the source, where `steps` is 0
    warmup_steps: int = 300  # of linear rise
    plateau_steps: int = 0  # at the full rate, those of the rise included, before the cosine decay
    learning_rate: float = 1e-3
    optimizer: str = "adamw"  # or muon, for the quaternion weights
    betas: tuple[float, float] = (0.9, 0.99)  # of AdamW
    weight_decay: float = 0.01
    clip_norm: float = 1.0  # largest norm of the gradient
    ema_decay: float = 0.999  # of the exponential moving average of the weights
    precision: str = "float32"  # or bfloat16: autocast of the network; losses stay in float32
    # that an item starts from the state at the end of the step before
    carry_state_probability: float = 0.0
    wide_band_share: float = 0.5  # of the steps of a network above 16 kHz that train it at 16 kHz
    # frames, one of them drawn for every step; (): those of the model
    look_ahead: tuple[int, ...] = ()
    # train the bands of the highest range alone; weight_decay must be 0
    highest_range_only: bool = False
    compile: bool = False
    checkpoint_every: int = 250  # steps
    valid_every: int = 1000  # steps

    def __post_init__(self) -> None:
        if self.precision not in ("float32", "bfloat16"):
            raise ValueError(f"precision {self.precision!r}: choose float32 or bfloat16")
        if self.optimizer not in NAMES:
            raise ValueError(f"optimizer {self.optimizer!r}: choose {' or '.join(NAMES)}")
        if not 0 <= self.carry_state_probability <= 1:
            raise ValueError(
                f"carry_state_probability {self.carry_state_probability}: must be from 0 to 1"
            )
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
        if not 0 <= self.ema_decay <= 1:
            raise ValueError(f"ema_decay {self.ema_decay}: must be from 0 to 1")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas {list(self.betas)}: two numbers, from 0 to below 1")
        least = dict.fromkeys(("batch", "epochs", "checkpoint_every", "valid_every"), 1)
        for name, bound in {**least, "steps": 0, "warmup_steps": 0, "plateau_steps": 0}.items():
            if getattr(self, name) < bound:
                raise ValueError(f"{name} {getattr(self, name)}: must be at least {bound}")

    def counted(self, segments: int, processes: int) -> "TrainConfig":
        """Return the same with `steps` filled in: where it is 0, `epochs` times the whole batches
        of `segments`."""
        steps = self.steps or self.epochs * max(1, segments // (self.batch * processes))
        return replace(self, steps=steps)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step: linear rise, plateau, cosine to zero at `steps`."""
        start = max(self.plateau_steps, self.warmup_steps)
        fall = min(max(0.0, (step - start) / max(1, self.steps - start)), 1.0)
        return (
            self.learning_rate
            * min(1.0, (step + 1) / max(1, self.warmup_steps))
            * 0.5
            * (1 + math.cos(math.pi * fall))
        )
