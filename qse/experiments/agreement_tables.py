"""Tables 4, 10 and 11 of Yamauchi et al. 2026 from rows of the agreement, with the paper's values."""

from collections.abc import Iterable
from statistics import mean, stdev

from .agreement import PAIRS
from .results import Row

CHANCE = "uniform attention"
PAPER_TOP = {
    1: (3.83, 0.63, 6.07),
    5: (7.29, 3.16, 2.31),
}  # Table 11: agreement and chance in percent, ratio
PAPER_PAIRS = (
    "5.64 ± 13.69",
    "3.45 ± 9.91",
    "5.62 ± 17.22",
    "2.14 ± 6.33",
    "4.16 ± 12.36",
    "1.97 ± 6.49",
)  # Table 4
PAPER_OVERALL = "3.83 ± 6.58"
PAPER_HEADS = {  # Table 10
    "frequency 0": ("10.49 ± 10.69", "2.55 ± 1.97", "1.78 ± 2.64", "8.49 ± 5.37"),
    "frequency 1": ("16.23 ± 11.91", "2.52 ± 2.97", "6.83 ± 6.63", "3.78 ± 3.54"),
    "time 0": ("0.35 ± 0.55", "0.32 ± 0.91", "0.33 ± 0.41", "0.24 ± 0.44"),
    "time 1": ("1.77 ± 2.42", "3.26 ± 3.45", "1.49 ± 2.60", "0.85 ± 1.38"),
}


def by_top(rows: list[Row]) -> list[Row]:
    """Return Table 11: a row per network and number of keys, and the paper's."""
    table = []
    for name, top in dict.fromkeys((row["weights"], row["top"]) for row in rows):
        chosen = [row for row in rows if (row["weights"], row["top"]) == (name, top)]
        found = {
            key: 100 * mean(row[key] for row in chosen)
            for key in ("agreement", "chance", "marginal")
        }
        ratio = found["agreement"] / found["chance"]
        cells = {
            "agreement %": spread(row["agreement"] for row in chosen),
            "chance %": f"{found['chance']:.2f}",
        }
        table.append(
            {
                "weights": name,
                "top": top,
                **cells,
                "ratio": f"{ratio:.2f}",
                "marginal %": f"{found['marginal']:.2f}",
            }
        )
    for top, (observed, chance, ratio) in PAPER_TOP.items():
        cells = {"agreement %": f"{observed}", "chance %": f"{chance}", "ratio": f"{ratio:.2f}"}
        table.append({"weights": "paper, speech", "top": top, **cells, "marginal %": ""})
    return table


def by_pair(rows: list[Row]) -> list[Row]:
    """Return Table 4: a row per network with the top-1 agreement of each pair, and the paper's."""
    table = []
    for name in _names(rows):
        chosen = _top1(rows, name)
        pairs = {
            f"{a}-{b}": [row["agreement"] for row in chosen if row["pair"] == f"{a}-{b}"]
            for a, b in PAIRS
        }
        cells = {pair: spread(values) for pair, values in pairs.items()}
        table.append(
            {"weights": name, **cells, "overall": spread(row["agreement"] for row in chosen)}
        )
    cells = {f"{a}-{b}": value for (a, b), value in zip(PAIRS, PAPER_PAIRS, strict=True)}
    return [*table, {"weights": "paper, speech", **cells, "overall": PAPER_OVERALL}]


def by_head(rows: list[Row]) -> list[Row]:
    """Return Table 10 of the first network: a row per layer and head, beside random weights and the paper's values."""
    first, *others = _names(rows)
    control = next((name for name in others if "random" in name), CHANCE)
    beside: dict[tuple[str, int], list[float]] = {(row["layer"], row["head"]): [] for row in rows}
    for row in _top1(rows, control):
        beside[row["layer"], row["head"]].append(row["agreement"])
    table = []
    for layer, head in beside:
        chosen = [row for row in _top1(rows, first) if (row["layer"], row["head"]) == (layer, head)]
        parts = {
            f"component {part}": f"{100 * mean(row['agreement'] for row in chosen if str(part) in row['pair']):.2f}"
            for part in range(4)
        }
        marginal = f"{100 * mean(row['marginal'] for row in chosen):.2f}"
        cells = {first: spread(row["agreement"] for row in chosen), **parts, "marginal": marginal}
        paper = PAPER_HEADS.get(layer, ())
        cells |= {
            control: spread(beside[layer, head]),
            "paper": paper[head] if head < len(paper) else "",
        }
        table.append({"layer": layer, "head": head, **cells})
    return table


def spread(shares: Iterable[float]) -> str:
    """Return mean ± standard deviation of some shares, in percent."""
    values = [100 * share for share in shares]
    return f"{mean(values):.2f} ± {stdev(values):.2f}"


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["weights"] for row in rows))


def _top1(rows: list[Row], name: str) -> list[Row]:
    return [row for row in rows if (row["weights"], row["top"]) == (name, 1)]
