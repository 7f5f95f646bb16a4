"""Tables 7, 8 and 14 of Yamauchi et al. 2026 from gradient norms.

Beside them the paper's values and the sampling error.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean

from torch import Tensor

from .plots import new_figure, save
from .results import Row, column, distinct, markdown_table, rows_with
from .statistics import correlation

NORMS = ("shared", "S0", "S1", "S2", "S3")
PAIRS = tuple(combinations(range(4), 2))
PAIR_NAMES = tuple(f"{a}-{b}" for a, b in PAIRS)
PAPER_NORMS = (  # Table 7
    "1.72e-3 ± 2e-5",
    "4.86e-4 ± 7e-6",
    "4.87e-4 ± 6e-6",
    "4.87e-4 ± 6e-6",
    "4.88e-4 ± 6e-6",
)
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


def norm_row(source: Source, norms: Tensor) -> Row:
    """Return the row of Table 7 for the norms (trials, 5) of one source of weights."""
    row: Row = {"weights": name_of(source)}
    for key, values in zip(NORMS, norms.unbind(1), strict=True):
        row[key] = f"{values.mean().item():.3g} ± {values.std().item():.1g}"
    row["shared / sum"] = (norms[:, 0] / norms[:, 1:].sum(1)).mean().item()
    return row


def paper_norm_row() -> Row:
    """Return the paper's row of Table 7."""
    norms = dict(zip(NORMS, PAPER_NORMS, strict=True))
    return {"weights": "paper (Table 7)", **norms, "shared / sum": PAPER_RATIO}


def correlation_rows(source: Source, norms: Tensor) -> Iterator[Row]:
    """Yield a row of Table 8 per pair of components."""
    for a, b in PAIRS:
        found = correlation(norms[:, 1 + a], norms[:, 1 + b])
        yield {"weights": name_of(source), "pair": f"{a}-{b}", **vars(found)}


def correlation_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with a line per source of weights, a column per pair.

    Below are the paper's values.
    """
    lines = [["weights", *PAIR_NAMES, "mean", "chance"]]
    for source in distinct(rows, "weights"):
        chosen = rows_with(rows, weights=source)
        line = [source]
        for row in chosen:
            line.append(f"{row['r']:.3f} ({row['low']:.2f} to {row['high']:.2f})")
        lines.append([*line, f"{mean(column(chosen, 'r')):.3f}", f"±{chosen[0]['chance']:.2f}"])
    for source, texts in PAPER_CORRELATIONS.items():
        known = [float(text) for text in texts if "<" not in text]
        average = f"{mean(known):.3f}" if known else ""
        lines.append([source, *texts, average, ""])
    return markdown_table(lines)


def ratio_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table of shared / sum: a line per loss, a column per score scale."""
    headings = [f"score scale {scale:g}" for scale in distinct(rows, "score scale")]
    lines = [["loss", *headings]]
    for loss in distinct(rows, "loss"):
        ratios = column(rows_with(rows, loss=loss), "shared / sum")
        lines.append([loss, *map("{:.2f}".format, ratios)])
    return markdown_table(lines)


def plot_ratios(path: Path, rows: Sequence[Row]) -> None:
    """Write a PNG of shared / sum over the score scale, a curve per loss, the paper's as a line."""
    figure, axis = new_figure(6.5, 3.6)
    for loss in distinct(rows, "loss"):
        chosen = rows_with(rows, loss=loss)
        axis.plot(column(chosen, "score scale"), column(chosen, "shared / sum"), ".-", label=loss)
    label = f"paper, {PAPER_RATIO:.2f}"
    axis.axhline(PAPER_RATIO, color="black", linestyle="--", linewidth=1, label=label)
    axis.axhline(0.5, color="grey", linestyle=":", linewidth=1, label="orthogonal and equal, 0.5")
    axis.set_xscale("log")
    axis.set_ylim(0)
    axis.set_xlabel("factor of all scores")
    axis.set_ylabel("norm of shared / sum of the four")
    axis.legend(frameon=False, fontsize=8)
    save(figure, path)


NOTES = (
    "Norms: mean ± standard deviation over {0.trials} trials, loss {0.loss}, standard deviation of "
    "the input {0.scale}, score scale {0.score_scale}, batch {0.batch}, {0.tokens} tokens. shared "
    "/ sum: the norm of shared scores over the sum of the four norms of Hamilton attention. With "
    "equal softmax outputs it is 1 if the contributions of the components are aligned, and 0.5 if "
    "they are orthogonal and equal.",
    "Theorem C.3: the largest relative deviation of Eqs. 66 and 67 from automatic differentiation "
    "is {:.1e}.",
    "Correlation of the norms over trials, with its 95 % interval; chance: what 95 % of "
    "uncorrelated samples of this size stay below.",
    "shared / sum at random weights for each loss and score scale. The last row is a control with "
    "aligned contributions.",
)
