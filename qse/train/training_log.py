"""Report the progress of a run: to a caller after every step, and as means in train.csv."""

import json
import math
from pathlib import Path
from typing import Protocol

from .checkpoint import parse_sums
from .metrics_log import MetricsLog
from .train_config import TrainConfig
from .trainer import Trainer


class Report(Protocol):
    """Receive the progress of a run in its first process: a row after every step, and the end."""

    def __call__(self, row: dict[str, float], plan: TrainConfig) -> None: ...

    def close(self) -> None: ...


class TrainingLog:
    """Sum the loss and its terms since the last line of train.csv; only the first process writes
    and reports.

    Keys of `sums`: the terms, `steps` (how many are in the sums), `skipped` (steps without an
    update).
    """

    def __init__(
        self, folder: Path, trainer: Trainer, sample_rate: int, report: Report | None = None
    ):
        self.trainer = trainer
        self.sample_rate = sample_rate
        self.report = report if trainer.rank == 0 else None
        self.metrics = MetricsLog(folder) if trainer.rank == 0 else None
        self.sums: dict[str, float] = {}

    def step(self, terms: dict[str, float], skipped: bool) -> None:
        """Add a step; the terms of a skipped one are left out of the means."""
        for name, value in ({"skipped": 1} if skipped else {"steps": 1, **terms}).items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        if self.report:
            row = {
                "step": self.trainer.done,
                "audio": self._audio(),
                "seconds": self.trainer.seconds,
            }
            self.report({**terms, **row}, self.trainer.config)

    def write(self) -> None:
        """Write the means since the last line to train.csv, and how many steps were skipped, if
        any."""
        steps = self.sums.pop("steps", 0)
        skipped = self.sums.pop("skipped", 0)
        means = {"loss": math.nan, **{name: value / steps for name, value in self.sums.items()}}
        means |= {"skipped": skipped} if skipped else {}
        done = self.trainer.done
        self.sums = {}
        hours = {"audio_hours": self._audio() / 3600, "train_hours": self.trainer.seconds / 3600}
        if self.metrics:
            self.metrics.add(
                "train", {"step": done, **hours, "rate": self.trainer.config.rate(done), **means}
            )

    def write_scores(self, scores: dict[str, float]) -> None:
        """Write the scores of a validation to valid.csv."""
        if self.metrics:
            self.metrics.add(
                "valid", {"step": self.trainer.done, "audio_hours": self._audio() / 3600, **scores}
            )

    def draw(self) -> None:
        """Draw curves.png."""
        if self.metrics:
            self.metrics.draw()

    def header(self) -> dict[str, str]:
        """Return what a checkpoint holds of this, as text."""
        return {"sums": json.dumps(self.sums)}

    def restore(self, header: dict[str, str]) -> None:
        """Continue from the header of a checkpoint: later lines are removed."""
        self.sums = parse_sums(header.get("sums", "{}"))
        if self.metrics:
            self.metrics.rewind(self.trainer.done)

    def close(self) -> None:
        """Tell the caller that there are no more steps."""
        if self.report:
            self.report.close()

    def _audio(self) -> float:
        """Return the seconds of audio that all processes have trained on."""
        return self.trainer.heard / self.sample_rate
