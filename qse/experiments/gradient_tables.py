"""Tables 7, 8 and 14 of Yamauchi et al. 2026 from gradient norms, with the paper's values and the sampling error."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from torch import Tensor

from ..extras import need
from .results import Row
from .statistics import correlation

NORMS = ("shared", "S0", "S1", "S2", "S3")
PAIRS = tuple(combinations(range(4), 2))
PAPER_NORMS = (
    "1.72e-3 ± 2e-5",
    "4.86e-4 ± 7e-6",
    "4.87e-4 ± 6e-6",
    "4.87e-4 ± 6e-6",
    "4.88e-4 ± 6e-6",
)  # Table 7
PAPER_RATIO = 1.72e-3 / (4.86e-4 + 4.87e-4 + 4.87e-4 + 4.88e-4)
PAPER_CORRELATIONS = {  # by pair, 0-1, 0-2, 0-3, 1-2, 1-3, 2-3
    "paper, speech, random (Table 8 a)": ("< 0.001",) * 6,
    "paper, speech, trained (Table 8 b)": ("0.826", "0.317", "0.879", "0.792", "0.833", "0.404"),
    "paper, images, random (Table 14 a)": (
        "-0.248",
        "-0.124",
        "-0.063",
        "0.059",
        "-0.006",
        "0.038",
    ),
    "paper, images, trained (Table 14 b)": ("0.393", "0.451", "0.517", "0.200", "0.524", "0.401"),
}
Source = tuple[str, int]  # name of the weights, seed


def name_of(source: Source) -> str:
    return f"{source[0]}, seed {source[1]}"


def norm_row(source: Source | None, norms: Tensor) -> Row:
    """Return the row of Table 7 for the norms (trials, 5) of one source of weights; None: the paper's row."""
    if source is None:
        return {
            "weights": "paper (Table 7)",
            **dict(zip(NORMS, PAPER_NORMS, strict=True)),
            "shared / sum": PAPER_RATIO,
        }
    mean, std = norms.mean(0), norms.std(0)
    cells = {
        key: f"{m:.3g} ± {s:.1g}"
        for key, m, s in zip(NORMS, mean.tolist(), std.tolist(), strict=True)
    }
    return {
        "weights": name_of(source),
        **cells,
        "shared / sum": (norms[:, 0] / norms[:, 1:].sum(1)).mean().item(),
    }


def correlation_rows(source: Source, norms: Tensor) -> Iterator[Row]:
    """Yield a row of Table 8 per pair of components."""
    for a, b in PAIRS:
        found = correlation(norms[:, 1 + a], norms[:, 1 + b])
        yield {"weights": name_of(source), "pair": f"{a}-{b}", **vars(found)}


def correlation_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with a line per source of weights, a column per pair, and the paper's values."""
    lines = [
        ["weights", *(f"{a}-{b}" for a, b in PAIRS), "mean", "chance"],
        ["---"] * (len(PAIRS) + 3),
    ]
    for source in dict.fromkeys(row["weights"] for row in rows):
        chosen = [row for row in rows if row["weights"] == source]
        cells = [f"{row['r']:.3f} ({row['low']:.2f} to {row['high']:.2f})" for row in chosen]
        mean = sum(row["r"] for row in chosen) / len(chosen)
        lines.append([source, *cells, f"{mean:.3f}", f"±{chosen[0]['chance']:.2f}"])
    for source, values in PAPER_CORRELATIONS.items():
        known = [float(value) for value in values if "<" not in value]
        lines.append([source, *values, f"{sum(known) / len(known):.3f}" if known else "", ""])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def ratio_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table of shared / sum: a line per loss, a column per score scale."""
    scales = list(dict.fromkeys(row["score scale"] for row in rows))
    lines = [["loss", *(f"score scale {scale:g}" for scale in scales)], ["---"] * (len(scales) + 1)]
    for loss in dict.fromkeys(row["loss"] for row in rows):
        lines.append([loss, *(f"{row['shared / sum']:.2f}" for row in rows if row["loss"] == loss)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def plot_ratios(path: Path, rows: Sequence[Row]) -> None:
    """Write a PNG of shared / sum over the score scale, a curve per loss, and the paper's value as a line."""
    need("matplotlib", "train")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    axis = figure.subplots()
    for loss in dict.fromkeys(row["loss"] for row in rows):
        points = [(row["score scale"], row["shared / sum"]) for row in rows if row["loss"] == loss]
        axis.plot(*zip(*points, strict=True), ".-", label=loss)
    axis.axhline(
        PAPER_RATIO, color="black", linestyle="--", linewidth=1, label=f"paper, {PAPER_RATIO:.2f}"
    )
    axis.axhline(0.5, color="grey", linestyle=":", linewidth=1, label="orthogonal and equal, 0.5")
    axis.set_xscale("log")
    axis.set_ylim(0)
    axis.set_xlabel("factor of all scores")
    axis.set_ylabel("norm of shared / sum of the four")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


NOTES = (
    "Norms: mean ± standard deviation over {0.trials} trials, loss {0.loss}, standard deviation of the input "
    "{0.scale}, score scale {0.score_scale}, batch {0.batch}, {0.tokens} tokens. shared / sum: the norm of shared "
    "scores over the sum of the four norms of Hamilton attention. With equal softmax outputs it is 1 if the "
    "contributions of the components are aligned, and 0.5 if they are orthogonal and equal.",
    "Theorem C.3: the largest relative deviation of Eqs. 66 and 67 from automatic differentiation is {:.1e}.",
    "Correlation of the norms over trials, with its 95 % interval; chance: what 95 % of uncorrelated samples of this "
    "size stay below.",
    "shared / sum at random weights for each loss and score scale. The last row is a control with aligned "
    "contributions.",
)
