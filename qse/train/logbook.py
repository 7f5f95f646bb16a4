"""What a run leaves to read: train.csv, valid.csv, and both as curves.png."""

import csv
from pathlib import Path


class Logbook:
    """Appends rows to CSV files in `folder` and draws them."""

    def __init__(self, folder: Path):
        self.folder = folder

    def add(self, table: str, row: dict[str, float]) -> None:
        """One more line in `table`.csv; the first one writes the heading."""
        path = self.folder / f"{table}.csv"
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(row))
            if new:
                writer.writeheader()
            writer.writerow({key: f"{value:.6g}" for key, value in row.items()})

    def rewind(self, step: int) -> None:
        """Forgets the rows after `step`: a run that resumes from there writes them again."""
        for path in self.folder.glob("*.csv"):
            rows = self._rows(path.stem)
            kept = [row for row in rows if row["step"] <= step]
            if len(kept) < len(rows):
                path.unlink()
                for row in kept:
                    self.add(path.stem, row)

    def draw(self) -> None:
        """curves.png: the loss and each validation metric over the steps."""
        from matplotlib.figure import Figure

        train, valid = self._rows("train"), self._rows("valid")
        curves = [("loss", train), *((name, valid) for name in valid[0] if name not in ("step", "hours"))]
        figure = Figure(figsize=(3.2 * len(curves), 3), layout="constrained")
        for axes, (name, rows) in zip(figure.subplots(1, len(curves)), curves, strict=True):
            axes.plot([row["step"] for row in rows], [row[name] for row in rows])
            axes.set(title=name, xlabel="step")
            axes.grid(alpha=0.3)
        figure.savefig(self.folder / "curves.png", dpi=110)

    def _rows(self, table: str) -> list[dict[str, float]]:
        path = self.folder / f"{table}.csv"
        if not path.exists():
            return []
        with path.open(newline="") as file:
            return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
