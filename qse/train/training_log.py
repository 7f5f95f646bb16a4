"""Log a run: to a caller after every step, in train.csv and valid.csv, and as curves.png."""

import csv
import errno
import json
import math
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..audio.atomic_write import atomic_path, remove
from ..audio.folder_path import make_folder, open_found
from ..audio.private_folder import is_exchangeable
from ..bounded_text import Opener, read_table_text
from ..errors import QseError
from ..extras import need
from .checkpoint_header import parse_sums
from .exchange import gather
from .train_config import TrainConfig
from .trainer import Trainer
from .validation import UNKNOWN

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class StepReport(Protocol):
    """Receive the progress of a run in its first process: a row after every step, what is done
    beside the steps, as a validation (done of total, from 0 on), and the end."""

    def __call__(self, row: dict[str, float], plan: TrainConfig) -> None: ...

    def stage(self, what: str, done: int, total: int) -> None: ...

    def close(self) -> None: ...


class TrainingLog:
    """Sum the loss and its terms since the last line of train.csv, which holds the means over all
    processes; only the first process writes and reports.

    Keys of `sums`: the terms, and `skipped` (steps without an update, summed by the first process).
    `counts`: in how many steps each term was; steps at 16 kHz have no upper band.
    """

    def __init__(
        self, folder: Path, trainer: Trainer, sample_rate: int, report: StepReport | None = None
    ):
        self.trainer = trainer
        self.sample_rate = sample_rate
        self.report = report if trainer.rank == 0 else None
        self.metrics = MetricsLog(folder, trainer.config.tensorboard) if trainer.rank == 0 else None
        self.sums: dict[str, float] = {}
        self.counts: dict[str, float] = {}

    def step(self, terms: dict[str, float], skipped: bool) -> None:
        """Add a step; the terms of a skipped one are left out of the means."""
        if skipped:
            terms = {"skipped": 1} if self.trainer.rank == 0 else {}
        for name, value in terms.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1
        if self.report:
            row = {
                "step": self.trainer.done,
                "audio": self._audio(),
                "seconds": self.trainer.seconds,
                "passed": self.trainer.passed,
            }
            self.report({**terms, **row}, self.trainer.config)

    def stage(self, what: str, done: int, total: int) -> None:
        """Report what is done beside the steps."""
        if self.report:
            self.report.stage(what, done, total)

    def write(self) -> None:
        """Write the means since the last line to train.csv, and how many steps were skipped, if
        any; called in all processes."""
        sums, counts = self._of_all()
        skipped = sums.pop("skipped", 0)
        means = {"loss": math.nan}
        for name, value in sums.items():
            means[name] = value / counts[name] if counts[name] else math.nan
        if skipped:
            means["skipped"] = skipped
        done = self.trainer.done
        self.sums = {}
        self.counts = {}
        hours = {"audio_hours": self._audio() / 3600, "train_hours": self.trainer.seconds / 3600}
        rate = self.trainer.config.rate(done, self.trainer.passed)
        if self.metrics:
            self.metrics.add("train", {"step": done, **hours, "rate": rate, **means})

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
        """Return what a checkpoint holds of this, as text; called in all processes."""
        sums, counts = self._of_all()
        return {"sums": json.dumps(sums), "counts": json.dumps(counts)}

    def _of_all(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the sums and counts of all processes together."""
        sums = dict[str, float]()
        counts = dict[str, float]()
        for part_sums, part_counts in gather([(self.sums, self.counts)]):
            for name, value in part_sums.items():
                sums[name] = sums.get(name, 0.0) + value
                counts[name] = counts.get(name, 0.0) + part_counts[name]
        return sums, counts

    def restore(self, header: dict[str, str]) -> None:
        """Continue from the header of a checkpoint, in the first process: the sums are those of
        all. Later lines are removed."""
        if self.trainer.rank:
            return
        self.sums = parse_sums(header.get("sums", "{}"))
        steps = self.sums.pop("steps", 1)  # of earlier checkpoints, which counted all terms alike
        self.counts = dict.fromkeys(self.sums, steps) | parse_sums(header.get("counts", "{}"))
        if self.metrics:
            self.metrics.rewind(self.trainer.done)

    def close(self) -> None:
        """Tell the caller that there are no more steps."""
        if self.report:
            self.report.close()
        if self.metrics:
            self.metrics.close()

    def _audio(self) -> float:
        """Return the seconds of audio that all processes have trained on."""
        return self.trainer.heard / self.sample_rate


class MetricsLog:
    """Add rows to CSV files in `folder`, each rewritten atomically, and draw them.

    tensorboard: also write them as events of TensorBoard, into `folder`/tensorboard.
    """

    def __init__(self, folder: Path, tensorboard: bool = False):
        self.folder = folder
        self.tensorboard = tensorboard
        self._events: SummaryWriter | None = None
        self._done = 0

    def add(self, table: str, row: dict[str, float]) -> None:
        """Add a row to `table`.csv. A column that is new is nan in the earlier rows."""
        self._write(table, [*self._rows(table), row])
        if self.tensorboard:
            self._add_events(table, row)

    def rewind(self, step: int) -> None:
        """Remove the rows after `step`: a run that resumes from there writes them again."""
        self._done = step
        for table in ("train", "valid"):
            self._write(table, [row for row in self._rows(table) if row["step"] <= step])

    def close(self) -> None:
        """Write what is left of the events."""
        if self._events:
            self._events.close()

    def draw(self) -> None:
        """Draw curves.png: the loss and each validation metric over the steps, known and unknown
        sources together."""
        need("matplotlib", "train")
        from matplotlib.figure import Figure

        valid = self._rows("valid")
        curves = {"loss": [("loss", self._rows("train"))]}
        for name in valid[-1]:
            if name not in ("step", "audio_hours"):
                curves.setdefault(name.removeprefix(UNKNOWN), []).append((name, valid))
        figure = Figure(figsize=(3.2 * len(curves), 3), layout="constrained")
        panels = figure.subplots(1, len(curves))
        for axes, (title, lines) in zip(panels, curves.items(), strict=True):
            for name, rows in lines:
                label = "unknown sources" if name.startswith(UNKNOWN) else "known sources"
                steps = [row["step"] for row in rows]
                axes.plot(steps, [row[name] for row in rows], label=label)
            axes.set(title=title, xlabel="step")
            axes.grid(alpha=0.3)
            if len(lines) > 1:
                axes.legend()
        with atomic_path(self.folder / "curves.png", source=None) as part:
            figure.savefig(part, dpi=110, format="png")

    def _add_events(self, table: str, row: dict[str, float]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        if self._events is None:  # hides the events after the step where the run resumed
            folder = self.folder / "tensorboard"
            make_folder(folder)  # through no link of somebody else
            if folder.is_symlink() or is_exchangeable(folder / "events"):  # a name to be guessed
                raise PermissionError(errno.EPERM, "it is a link, or others write it", str(folder))
            self._events = SummaryWriter(folder, purge_step=self._done + 1)
        for name, value in row.items():
            if name != "step":
                self._events.add_scalar(f"{table}/{name}", value, int(row["step"]))
        self._events.flush()

    def _write(self, table: str, rows: list[dict[str, float]]) -> None:
        path = self.folder / f"{table}.csv"
        if not rows:
            remove(path)
            return
        columns: dict[str, None] = {}
        for row in rows:
            columns |= dict.fromkeys(row)
        with atomic_path(path, source=None) as partial, partial.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(columns), restval="nan")
            writer.writeheader()
            for row in rows:
                writer.writerow({name: _text(value) for name, value in row.items()})

    def _rows(self, table: str) -> list[dict[str, float]]:
        return read_table(self.folder / f"{table}.csv", open_found)


def read_table(path: Path, opener: Opener | None = None) -> list[dict[str, float]]:
    """Return the rows of a table of curves; none if there is no such file. opener: as of `open`.
    Raises QseError where it is damaged, or far larger than that of any run."""
    if not path.is_file():
        return []
    cure = "correct it, or delete it and lose this curve"
    try:
        rows = []
        text = StringIO(read_table_text(path, cure, opener=opener), newline="")
        for row in csv.DictReader(text, strict=True):
            rows.append({key: float(value) for key, value in row.items()})
    except (ValueError, TypeError, csv.Error) as error:
        raise QseError(f"{path} is damaged ({error}): {cure}") from error
    if not all("step" in row for row in rows):
        raise QseError(f"{path} is damaged (no column step): {cure}")
    return rows


def _text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.6g}"
