"""Log a training run: losses in train.csv, validation scores in valid.csv, curves of both in
curves.png."""

import csv
from pathlib import Path

from ..audio.atomic_write import atomic_path
from ..errors import QseError
from .validation import UNKNOWN


class MetricsLog:
    """Add rows to CSV files in `folder`, each rewritten atomically, and draw them."""

    def __init__(self, folder: Path):
        self.folder = folder

    def add(self, table: str, row: dict[str, float]) -> None:
        """Add a row to `table`.csv. A column that is new is nan in the earlier rows."""
        self._write(table, [*self._rows(table), row])

    def rewind(self, step: int) -> None:
        """Remove the rows after `step`: a run that resumes from there writes them again."""
        for table in ("train", "valid"):
            self._write(table, [row for row in self._rows(table) if row["step"] <= step])

    def draw(self) -> None:
        """Draw curves.png: the loss and each validation metric over the steps, known and unknown
        sources together."""
        from matplotlib.figure import Figure

        train = self._rows("train")
        valid = self._rows("valid")
        scores = [name for name in valid[-1] if name not in ("step", "audio_hours")]
        curves = {"loss": [("loss", train)]}
        for name in scores:
            curves.setdefault(name.removeprefix(UNKNOWN), []).append((name, valid))
        figure = Figure(figsize=(3.2 * len(curves), 3), layout="constrained")
        for axes, (title, lines) in zip(
            figure.subplots(1, len(curves)), curves.items(), strict=True
        ):
            for name, rows in lines:
                label = "unknown sources" if name.startswith(UNKNOWN) else "known sources"
                axes.plot([row["step"] for row in rows], [row[name] for row in rows], label=label)
            axes.set(title=title, xlabel="step")
            axes.grid(alpha=0.3)
            if len(lines) > 1:
                axes.legend()
        figure.savefig(self.folder / "curves.png", dpi=110)

    def _write(self, table: str, rows: list[dict[str, float]]) -> None:
        path = self.folder / f"{table}.csv"
        if not rows:
            path.unlink(missing_ok=True)
            return
        columns = dict.fromkeys(name for row in rows for name in row)
        with atomic_path(path) as partial, partial.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(columns), restval="nan")
            writer.writeheader()
            writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)

    def _rows(self, table: str) -> list[dict[str, float]]:
        path = self.folder / f"{table}.csv"
        if not path.exists():
            return []
        try:
            with path.open(newline="", encoding="utf-8") as file:
                rows = [
                    {key: float(value) for key, value in row.items()}
                    for row in csv.DictReader(file, strict=True)
                ]
        except (ValueError, TypeError, csv.Error) as error:
            raise QseError(
                f"{path} is damaged ({error}): correct it, or delete it and lose this curve"
            ) from error
        if not all("step" in row for row in rows):
            raise QseError(
                f"{path} is damaged (no column step): correct it, or delete it and lose this curve"
            )
        return rows


def _text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.6g}"
