"""Pictures of the attention analysis (Yamauchi et al. 2026, Figures 2, 3 and 4, Table 10)."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from torch import Tensor

from ..extras import need
from .agreement_tables import CHANCE, PAPER_TOP
from .attention_capture import Signals
from .results import Row
from .statistics import correlation

MOST_POINTS = 20_000  # in a scatter plot
COMPONENTS = ("real", "i", "j", "k")
Panel = tuple[str, Tensor, Tensor, str, str]  # title, two outputs, their names


def plot_agreement(path: Path, rows: Sequence[Row]) -> None:
    """Write a PNG: top-1 agreement by layer and head of each network, chance, and the paper's mean as a line."""
    figure, axis = _figure(8.0, 3.8)
    places = list(dict.fromkeys((row["layer"], row["head"]) for row in rows))
    for name in dict.fromkeys(row["weights"] for row in rows):
        for key, style in (("agreement", "o"), ("marginal", "x")):
            if key == "marginal" and (name == CHANCE or "random" in name):
                continue
            values = [100 * _mean(rows, name, place, key) for place in places]
            axis.plot(
                values,
                style,
                markersize=6,
                alpha=0.8,
                label=f"{name}{', marginal' * (key == 'marginal')}",
            )
    axis.axhline(
        PAPER_TOP[1][0], color="black", linestyle="--", linewidth=1, label="paper, speech, mean"
    )
    axis.set_xticks(
        range(len(places)), [f"{layer}\nhead {head}" for layer, head in places], fontsize=7
    )
    if len(places) > 8:
        axis.tick_params(axis="x", labelrotation=60)
    axis.set_xlabel("layer and head")
    axis.set_ylabel("top-1 agreement of components, %")
    axis.legend(frameon=False, fontsize=7, ncols=2)
    figure.savefig(path, dpi=130)


def plot_maps(path: Path, title: str, signals: Signals, x: str, y: str) -> None:
    """Write a PNG like Figure 2: weights of the four components and of shared scores, first head, middle sequence."""
    one = Signals(*(part[len(part) // 2 :][:1] for part in signals))
    maps = [*one.weights("hamilton")[0, 0], one.weights("shared")[0, 0, 0]]
    seen = one.seen[0]
    figure, axes = _figure(11.0, 2.9, len(maps))
    names = [
        *(f"component {number} ({name})" for number, name in enumerate(COMPONENTS)),
        "shared score",
    ]
    for axis, weights, name in zip(axes, maps, names, strict=True):
        shown = weights[seen][:, seen].numpy()
        image = axis.imshow(shown, cmap="viridis", aspect="auto", vmin=0, interpolation="nearest")
        axis.plot(shown.argmax(1), np.arange(len(shown)), ".", color="red", markersize=1.5)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel(f"{x} (token)")
        figure.colorbar(image, ax=axis, shrink=0.8)
    axes[0].set_ylabel(f"{y} (token)")
    figure.suptitle(f"{title}, head 0: attention weights; red: largest of a row", fontsize=9)
    figure.savefig(path, dpi=110)


def plot_outputs(path: Path, panels: Sequence[Panel], rows: Sequence[Row]) -> None:
    """Write a PNG: quantiles against quantiles (Figure 3), outputs against outputs (Figure 4), and all correlations."""
    rows_of_axes = 2 if len(panels) > 3 else 1
    figure, axes = _figure(
        10.0, 3.4 * rows_of_axes, -(-(len(panels) + 1) // rows_of_axes), rows_of_axes
    )
    axes = axes.flat
    for axis in axes[len(panels) + 1 :]:
        axis.remove()
    _quantiles(axes[0], panels[0])
    for axis, (title, x, y, a, b) in zip(axes[1 : len(panels) + 1], panels, strict=True):
        step = max(1, len(x) // MOST_POINTS)
        axis.plot(x[::step], y[::step], ",", alpha=0.4)
        axis.set_title(
            f"{title}\nr = {correlation(x, y).r:.3f}{_paper_of(rows, title, a, b)}", fontsize=8
        )
        axis.set_xlabel(f"{a}: output", fontsize=8)
        axis.set_ylabel(f"{b}: output", fontsize=8)
    figure.savefig(path, dpi=110)


def _quantiles(axis: Any, panel: Panel) -> None:
    title, x, y, a, b = panel
    shares = np.linspace(0.001, 0.999, 500)
    points = [np.quantile(part.numpy(), shares) for part in (x, y)]
    axis.plot(*points, ".", markersize=2)
    low, high = min(map(np.min, points)), max(map(np.max, points))
    axis.plot(
        [low, high],
        [low, high],
        color="black",
        linewidth=0.8,
        linestyle="--",
        label="equal distributions",
    )
    axis.set_title(f"{title}: quantiles", fontsize=8)
    axis.set_xlabel(f"{a}: quantile of the output", fontsize=8)
    axis.set_ylabel(f"{b}: quantile of the output", fontsize=8)
    axis.legend(frameon=False, fontsize=7)


def _paper_of(rows: Sequence[Row], title: str, a: str, b: str) -> str:
    """Return the paper's correlation for a panel, or nothing."""
    names = {f"{title}: {a} / {b}".replace(" formula", ""), f"{a} / {b}"}
    text = next((row["paper"] for row in rows if row["outputs"] in names), "")
    values = dict(part.rsplit(" ", 1) for part in text.split(", ") if part)
    return f" (paper {values['correlation']})" if "correlation" in values else ""


def _mean(rows: Sequence[Row], name: str, place: tuple[str, int], key: str) -> float:
    return mean(
        row[key]
        for row in rows
        if (row["weights"], row["layer"], row["head"], row["top"]) == (name, *place, 1)
    )


def _figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    need("matplotlib", "train")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns)
