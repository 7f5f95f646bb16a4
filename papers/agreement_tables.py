"""Tables 4, 10 and 11 of Yamauchi et al. 2026 from rows of the agreement."""

from collections.abc import Sequence
from statistics import mean

from .agreement import PAIRS
from .results import Row, column, distinct, rows_with
from .study import mean_and_deviation

CHANCE = "uniform attention"
PAPER_TOP = {  # Table 11: agreement and chance in percent, ratio
    1: (3.83, 0.63, 6.07),
    5: (7.29, 3.16, 2.31),
}
PAPER_PAIRS = {  # Table 4
    "0-1": "5.64 ± 13.69",
    "0-2": "3.45 ± 9.91",
    "0-3": "5.62 ± 17.22",
    "1-2": "2.14 ± 6.33",
    "1-3": "4.16 ± 12.36",
    "2-3": "1.97 ± 6.49",
    "overall": "3.83 ± 6.58",
}
PAPER_HEADS = {  # Table 10
    "frequency 0": ("10.49 ± 10.69", "2.55 ± 1.97", "1.78 ± 2.64", "8.49 ± 5.37"),
    "frequency 1": ("16.23 ± 11.91", "2.52 ± 2.97", "6.83 ± 6.63", "3.78 ± 3.54"),
    "time 0": ("0.35 ± 0.55", "0.32 ± 0.91", "0.33 ± 0.41", "0.24 ± 0.44"),
    "time 1": ("1.77 ± 2.42", "3.26 ± 3.45", "1.49 ± 2.60", "0.85 ± 1.38"),
}
PAPER = "paper, speech"


def by_top(rows: list[Row]) -> list[Row]:
    """Return Table 11: a row per network and number of keys, and the paper's."""
    table: list[Row] = []
    for name, top in distinct(rows, "weights", "top"):
        chosen = rows_with(rows, weights=name, top=top)
        agreement = percent(chosen, "agreement")
        chance = percent(chosen, "chance")
        table.append(
            {
                "weights": name,
                "top": top,
                "agreement %": _shares(chosen),
                "chance %": f"{chance:.2f}",
                "ratio": f"{agreement / chance:.2f}",
                "marginal %": f"{percent(chosen, 'marginal'):.2f}",
            }
        )
    for top, (observed, chance, ratio) in PAPER_TOP.items():
        cells = {"agreement %": f"{observed}", "chance %": f"{chance}", "ratio": f"{ratio:.2f}"}
        table.append({"weights": PAPER, "top": top, **cells, "marginal %": ""})
    return table


def by_pair(rows: list[Row]) -> list[Row]:
    """Return Table 4: a row per network with the top-1 agreement of each pair, and the paper's."""
    table: list[Row] = []
    for name in distinct(rows, "weights"):
        chosen = rows_with(rows, weights=name, top=1)
        line: Row = {"weights": name}
        for a, b in PAIRS:
            pair = f"{a}-{b}"
            line[pair] = _shares(rows_with(chosen, pair=pair))
        line["overall"] = _shares(chosen)
        table.append(line)
    return [*table, {"weights": PAPER, **PAPER_PAIRS}]


def by_head(rows: list[Row]) -> list[Row]:
    """Return Table 10 of the first network: a row per layer and head.

    Beside it the agreement with random weights, or by chance, and the paper's values.
    """
    first, *others = distinct(rows, "weights")
    control = CHANCE
    for name in others:
        if "random" in name:
            control = name
            break
    table: list[Row] = []
    for layer, head in distinct(rows, "layer", "head"):
        place = {"top": 1, "layer": layer, "head": head}
        chosen = rows_with(rows, weights=first, **place)
        beside = rows_with(rows, weights=control, **place)
        line: Row = {"layer": layer, "head": head}
        line[first] = _shares(chosen)
        for part in range(4):
            of_part: list[Row] = []
            for row in chosen:
                if str(part) in row["pair"]:
                    of_part.append(row)
            line[f"component {part}"] = f"{percent(of_part, 'agreement'):.2f}"
        line["marginal"] = f"{percent(chosen, 'marginal'):.2f}"
        line[control] = _shares(beside)
        paper = PAPER_HEADS.get(layer, ())
        line["paper"] = paper[head] if head < len(paper) else ""
        table.append(line)
    return table


def percent(rows: list[Row], key: str) -> float:
    """Return the mean of the shares `key` in percent."""
    return 100 * mean(column(rows, key))


def _shares(rows: Sequence[Row]) -> str:
    """Return mean ± standard deviation of the agreement in percent."""
    return mean_and_deviation([100 * share for share in column(rows, "agreement")])
