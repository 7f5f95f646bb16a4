"""Tables and curves that experiments write."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..extras import need

Row = dict[str, Any]


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write a CSV file with the columns of the first row; floats with six significant digits."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        for row in rows:
            table.writerow({key: f"{cell:.6g}" if isinstance(cell, float) else cell for key, cell in row.items()})


def markdown(rows: Sequence[Row]) -> str:
    """Return a Markdown table with the columns of the first row; floats with four significant digits."""
    cells = [list(rows[0]), ["---"] * len(rows[0])]
    cells += [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def write_markdown(path: Path, rows: Sequence[Row], *notes: str) -> None:
    """Write `markdown(rows)`, then each note as a paragraph."""
    path.write_text("\n".join([markdown(rows), *(f"{note}\n" for note in notes)]), encoding="utf-8")


def plot_curves(path: Path, rows: Sequence[Row], *, x: str, y: str, by: str, log: bool = False) -> None:
    """Write a PNG of `y` over `x` with one curve per value of `by`."""
    need("matplotlib", "train")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    axis = figure.subplots()
    for name in dict.fromkeys(row[by] for row in rows):
        points = [(row[x], row[y]) for row in rows if row[by] == name]
        axis.plot(*zip(*points, strict=True), ".-" if len(points) < 30 else "-", label=str(name))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_yscale("log" if log else "linear")
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
