"""Pictures that experiments draw: curves, runs of several seeds, matrices."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from qse.audio.atomic_write import atomic_path
from qse.extras import need

from .results import Row, column, distinct, rows_with

if TYPE_CHECKING:
    from torch import Tensor

FEW_POINTS = 30  # up to here, curves have a marker at each point


def plot_curves(
    path: Path, rows: Sequence[Row], *, x: str, y: str, by: str, log: bool = False
) -> None:
    """Write a PNG of `y` over `x` with one curve per value of `by`."""
    figure, axis = new_figure(6.5, 3.6)
    for name in distinct(rows, by):
        chosen = rows_with(rows, **{by: name})
        places = column(chosen, x)
        axis.plot(places, column(chosen, y), _style(places), label=str(name))
    _whole_numbers(axis)
    axis.set_yscale("log" if log else "linear")
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.legend(frameon=False, fontsize=9)
    save(figure, path)


def plot_runs(
    path: Path,
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    labels: tuple[str, str],
    lines: Mapping[str, float] | None = None,
) -> None:
    """Write a PNG of `y` over `x` for each arm: mean over seeds, and a band from lowest to highest.

    labels: of both axes. lines: arm -> the paper's value, drawn dashed in the colour of the arm.
    """
    figure, axis = new_figure(6.5, 3.6)
    for number, arm in enumerate(distinct(rows, "arm")):
        colour = f"C{number}"
        points: dict[float, list[float]] = {}
        for row in rows_with(rows, arm=arm):
            points.setdefault(row[x], []).append(row[y])
        places = list(points)
        means = list(map(mean, points.values()))
        lows = list(map(min, points.values()))
        highs = list(map(max, points.values()))
        axis.plot(places, means, _style(places), label=arm, color=colour)
        axis.fill_between(places, lows, highs, color=colour, alpha=0.15, linewidth=0)
        if lines and arm in lines:
            label = f"{arm}, paper"
            axis.axhline(lines[arm], color=colour, linestyle="--", linewidth=1, label=label)
    _whole_numbers(axis)
    axis.set_xlabel(labels[0])
    axis.set_ylabel(labels[1])
    axis.legend(frameon=False, fontsize=8, ncols=2)
    save(figure, path)


def plot_matrices(path: Path, matrices: Mapping[str, "Tensor"], labels: Sequence[str]) -> None:
    """Write a PNG of correlation matrices, up to four in a row, values in the cells."""
    columns = min(4, len(matrices))
    rows = -(-len(matrices) // columns)
    figure, axes = new_grid(2.6 * columns, 2.9 * rows, columns, rows)
    for axis in axes[len(matrices) :]:
        axis.set_visible(False)
    for axis, (name, matrix) in zip(axes, matrices.items(), strict=False):
        axis.imshow(matrix.numpy(), cmap="RdBu_r", vmin=-1, vmax=1)
        axis.set_title(name, fontsize=9)
        axis.set_xticks(range(len(labels)), labels)
        axis.set_yticks(range(len(labels)), labels)
        axis.set_xlabel("component")
        _write_cells(axis, matrix)
    save_figure(figure, path, dpi=150)


def plot_pictures(path: Path, pictures: Mapping[str, "Tensor"], labels: tuple[str, str]) -> None:
    """Write a PNG of pictures of one size, values 0 to 1, side by side. labels: of both axes."""
    figure, axes = new_grid(3.2 * len(pictures), 2.6, len(pictures))
    for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
        axis.imshow(picture.numpy(), cmap="gray_r", vmin=0, vmax=1, aspect="auto")
        axis.set_title(name, fontsize=9)
        axis.set_xlabel(labels[0])
        axis.set_ylabel(labels[1])
    save_figure(figure, path, dpi=150)


def plot_seeds(
    path: Path, points: Mapping[str, Sequence[float]], paper: Mapping[str, float], label: str
) -> None:
    """Write a PNG with a point per seed of an arm, their mean, and the paper's value as a line."""
    figure, axis = new_figure(1.6 + 1.3 * len(points), 3.4)
    for place, (arm, values) in enumerate(points.items()):
        axis.plot([place] * len(values), values, "o", color=f"C{place}", alpha=0.6)
        axis.plot([place], [mean(values)], "_", color=f"C{place}", markersize=22)
        if arm in paper:
            ends = [place - 0.35, place + 0.35]
            name = "paper" if arm == next(iter(paper)) else None
            axis.plot(ends, [paper[arm]] * 2, "--", color="black", linewidth=1, label=name)
    axis.set_xticks(range(len(points)), list(points))
    axis.set_xlabel("arm (points: seeds, bar: mean)")
    axis.set_ylabel(label)
    if paper:
        axis.legend(frameon=False, fontsize=9)
    save(figure, path)


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """Return a figure of this size in inches, and its axis."""
    figure, (axis,) = new_grid(width, height, 1)
    return figure, axis


def new_grid(width: float, height: float, columns: int, rows: int = 1) -> tuple[Any, Any]:
    """Return a figure of this size in inches, and a flat array of its axes."""
    need("matplotlib", "train")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).ravel()


def save(figure: Any, path: Path) -> None:
    """Write a PNG without the upper and the right border of its axes."""
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path, dpi=150)


def _style(places: Sequence[float]) -> str:
    return ".-" if len(places) < FEW_POINTS else "-"


def _whole_numbers(axis: Any) -> None:
    """Put the marks of the horizontal axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def _write_cells(axis: Any, matrix: "Tensor") -> None:
    """Write the values of a matrix into the cells of its picture."""
    centred = {"ha": "center", "va": "center", "fontsize": 8}
    for y, values in enumerate(matrix.tolist()):
        for x, value in enumerate(values):
            colour = "white" if abs(value) > 0.6 else "black"
            axis.text(x, y, f"{value:.2f}", color=colour, **centred)


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """Write a figure as a PNG file, atomically."""
    with atomic_path(path, source=None) as part:
        figure.savefig(part, dpi=dpi, format="png")
