"""Pictures of the attention analysis (Yamauchi et al. 2026, Figures 2, 3 and 4, Table 10)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from .agreement_tables import CHANCE, PAPER_TOP, percent
from .attention_capture import Signals
from .plots import new_figure, new_grid, save_figure
from .results import Row, distinct, rows_with
from .statistics import correlation

MOST_POINTS = 20_000  # in a scatter plot
COMPONENTS = ("real", "i", "j", "k")


class Panel(NamedTuple):
    """Two outputs that are drawn against each other, and their names."""

    title: str
    x: Tensor
    y: Tensor
    x_name: str
    y_name: str


def plot_agreement(path: Path, rows: Sequence[Row]) -> None:
    """Write a PNG: top-1 agreement by layer and head of each network, chance, the paper's mean."""
    figure, axis = new_figure(8.0, 3.8)
    top = rows_with(rows, top=1)
    places = distinct(top, "layer", "head")
    for name in distinct(top, "weights"):
        shown = {"agreement": ("o", name)}
        if name != CHANCE and "random" not in name:
            shown["marginal"] = ("x", f"{name}, marginal")
        for key, (style, label) in shown.items():
            values: list[float] = []
            for layer, head in places:
                values.append(percent(rows_with(top, weights=name, layer=layer, head=head), key))
            axis.plot(values, style, markersize=6, alpha=0.8, label=label)
    label = "paper, speech, mean"
    axis.axhline(PAPER_TOP[1][0], color="black", linestyle="--", linewidth=1, label=label)
    labels = [f"{layer}\nhead {head}" for layer, head in places]
    axis.set_xticks(range(len(places)), labels, fontsize=7)
    if len(places) > 8:
        axis.tick_params(axis="x", labelrotation=60)
    axis.set_xlabel("layer and head")
    axis.set_ylabel("top-1 agreement of components, %")
    axis.legend(frameon=False, fontsize=7, ncols=2)
    save_figure(figure, path, dpi=130)


def plot_maps(path: Path, title: str, signals: Signals, x: str, y: str) -> None:
    """Write a PNG like Figure 2: weights of the four components and of shared scores.

    They are those of the first head and the middle sequence.
    """
    middle = len(signals.q) // 2
    chosen = slice(middle, middle + 1)
    one = Signals(signals.q[chosen], signals.k[chosen], signals.v[chosen], signals.seen[chosen])
    maps: dict[str, Tensor] = {}
    for number, weights in enumerate(one.weights("hamilton")[0, 0]):
        maps[f"component {number} ({COMPONENTS[number]})"] = weights
    maps["shared score"] = one.weights("shared")[0, 0, 0]
    seen = one.seen[0]
    figure, axes = new_grid(11.0, 2.9, len(maps))
    for axis, (name, weights) in zip(axes, maps.items(), strict=True):
        shown = weights[seen][:, seen].numpy()
        image = axis.imshow(shown, cmap="viridis", aspect="auto", vmin=0, interpolation="nearest")
        axis.plot(shown.argmax(1), np.arange(len(shown)), ".", color="red", markersize=1.5)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel(f"{x} (token)")
        figure.colorbar(image, ax=axis, shrink=0.8)
    axes[0].set_ylabel(f"{y} (token)")
    figure.suptitle(f"{title}, head 0: attention weights; red: largest of a row", fontsize=9)
    save_figure(figure, path, dpi=110)


def plot_outputs(path: Path, panels: Sequence[Panel], rows: Sequence[Row]) -> None:
    """Write a PNG: quantiles against quantiles (Figure 3), outputs against outputs (Figure 4).

    Titles have the correlations.
    """
    lines = 2 if len(panels) > 3 else 1
    columns = -(-(len(panels) + 1) // lines)
    figure, axes = new_grid(10.0, 3.4 * lines, columns, lines)
    for axis in axes[len(panels) + 1 :]:
        axis.remove()
    _draw_quantiles(axes[0], panels[0])
    for axis, panel in zip(axes[1 : len(panels) + 1], panels, strict=True):
        step = max(1, len(panel.x) // MOST_POINTS)
        axis.plot(panel.x[::step], panel.y[::step], ",", alpha=0.4)
        r = correlation(panel.x, panel.y).r
        axis.set_title(f"{panel.title}\nr = {r:.3f}{_paper_of(rows, panel)}", fontsize=8)
        axis.set_xlabel(f"{panel.x_name}: output", fontsize=8)
        axis.set_ylabel(f"{panel.y_name}: output", fontsize=8)
    save_figure(figure, path, dpi=110)


def _draw_quantiles(axis: Any, panel: Panel) -> None:
    shares = np.linspace(0.001, 0.999, 500)
    x = np.quantile(panel.x.numpy(), shares)
    y = np.quantile(panel.y.numpy(), shares)
    axis.plot(x, y, ".", markersize=2)
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    line = {"color": "black", "linewidth": 0.8, "linestyle": "--"}
    axis.plot(ends, ends, label="equal distributions", **line)
    axis.set_title(f"{panel.title}: quantiles", fontsize=8)
    axis.set_xlabel(f"{panel.x_name}: quantile of the output", fontsize=8)
    axis.set_ylabel(f"{panel.y_name}: quantile of the output", fontsize=8)
    axis.legend(frameon=False, fontsize=7)


def _paper_of(rows: Sequence[Row], panel: Panel) -> str:
    """Return the paper's correlation for a panel, or nothing."""
    pair = f"{panel.x_name} / {panel.y_name}"
    names = {f"{panel.title}: {pair}".replace(" formula", ""), pair}
    for row in rows:
        if row["outputs"] in names:
            for part in row["paper"].split(", "):
                key, _, value = part.rpartition(" ")
                if key == "correlation":
                    return f" (paper {value})"
            return ""
    return ""
