"""Tables and curves that experiments write."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..extras import need

if TYPE_CHECKING:
    from torch import Tensor

Row = dict[str, Any]


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write a CSV file with the columns of the first row; floats with six significant digits."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        for row in rows:
            table.writerow(
                {
                    key: f"{cell:.6g}" if isinstance(cell, float) else cell
                    for key, cell in row.items()
                }
            )


def markdown(rows: Sequence[Row]) -> str:
    """Return a Markdown table with the columns of the first row; floats with four significant digits."""
    cells = [list(rows[0]), ["---"] * len(rows[0])]
    cells += [
        [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        for row in rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def write_markdown(path: Path, rows: Sequence[Row], *notes: str) -> None:
    """Write `markdown(rows)`, then each note as a paragraph."""
    path.write_text("\n".join([markdown(rows), *(f"{note}\n" for note in notes)]), encoding="utf-8")


def write_results(stem: Path, table: Sequence[Row], curves: Sequence[Row], *notes: str) -> None:
    """Write the table of an experiment as STEM.csv and STEM.md, notes below, and its curves as STEM-curves.csv."""
    write_table(stem.with_suffix(".csv"), table)
    write_markdown(stem.with_suffix(".md"), table, *notes)
    write_table(stem.with_name(f"{stem.name}-curves.csv"), curves)


def plot_curves(
    path: Path, rows: Sequence[Row], *, x: str, y: str, by: str, log: bool = False
) -> None:
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


def plot_runs(
    path: Path,
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    labels: tuple[str, str],
    lines: Mapping[str, float] | None = None,
) -> None:
    """Write a PNG of `y` over `x` for each arm: mean over seeds, and a band from the lowest to the highest value.

    labels: of both axes. lines: arm -> the paper's value, drawn dashed in the colour of the arm.
    """
    need("matplotlib", "train")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    axis = figure.subplots()
    for number, arm in enumerate(dict.fromkeys(row["arm"] for row in rows)):
        points: dict[float, list[float]] = {}
        for row in rows:
            if row["arm"] == arm:
                points.setdefault(row[x], []).append(row[y])
        means = [sum(values) / len(values) for values in points.values()]
        axis.plot(
            list(points), means, ".-" if len(points) < 30 else "-", label=arm, color=f"C{number}"
        )
        lows, highs = ([f(values) for values in points.values()] for f in (min, max))
        axis.fill_between(list(points), lows, highs, color=f"C{number}", alpha=0.15, linewidth=0)
        if lines and arm in lines:
            axis.axhline(
                lines[arm], color=f"C{number}", linestyle="--", linewidth=1, label=f"{arm}, paper"
            )
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel(labels[0])
    axis.set_ylabel(labels[1])
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8, ncols=2)
    figure.savefig(path, dpi=150)


def plot_matrices(path: Path, matrices: Mapping[str, "Tensor"], labels: Sequence[str]) -> None:
    """Write a PNG of correlation matrices, up to four in a row, values in the cells."""
    need("matplotlib", "train")
    from matplotlib.figure import Figure

    columns = min(4, len(matrices))
    rows = -(-len(matrices) // columns)
    figure = Figure(figsize=(2.6 * columns, 2.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes[len(matrices) :]:
        axis.set_visible(False)
    for axis, (name, matrix) in zip(axes, matrices.items(), strict=False):
        axis.imshow(matrix.numpy(), cmap="RdBu_r", vmin=-1, vmax=1)
        axis.set_title(name, fontsize=9)
        axis.set_xticks(range(len(labels)), labels)
        axis.set_yticks(range(len(labels)), labels)
        axis.set_xlabel("component")
        for row, values in enumerate(matrix.tolist()):
            for column, value in enumerate(values):
                colour = "white" if abs(value) > 0.6 else "black"
                axis.text(
                    column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour
                )
    figure.savefig(path, dpi=150)


def plot_seeds(
    path: Path, points: Mapping[str, Sequence[float]], paper: Mapping[str, float], label: str
) -> None:
    """Write a PNG with the result of every seed of an arm as a point, their mean, and the paper's value as a line."""
    need("matplotlib", "train")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.6 + 1.3 * len(points), 3.4), layout="constrained")
    axis = figure.subplots()
    for place, (arm, values) in enumerate(points.items()):
        axis.plot([place] * len(values), values, "o", color=f"C{place}", alpha=0.6)
        axis.plot([place], [sum(values) / len(values)], "_", color=f"C{place}", markersize=22)
        if arm in paper:
            ends = [place - 0.35, place + 0.35]
            name = "paper" if arm == next(iter(paper)) else None
            axis.plot(ends, [paper[arm]] * 2, "--", color="black", linewidth=1, label=name)
    axis.set_xticks(range(len(points)), list(points))
    axis.set_xlabel("arm (points: seeds, bar: mean)")
    axis.set_ylabel(label)
    axis.spines[["top", "right"]].set_visible(False)
    if paper:
        axis.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
