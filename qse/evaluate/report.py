"""Compute means of scores with 95 % intervals, as a dict and as Markdown tables.

An interval is the percentile bootstrap over utterances (Efron 1979) with a fixed seed, as in the paper's Tables 2 and
3: utterances are resampled with replacement, and the middle 95 % of the means are kept. The gain is enhanced minus
noisy of the same utterance: its interval shows whether a system helps, which two separate intervals do not.
"""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import QseError
from .metrics import METRICS
from .store import Row

RESAMPLES, LEVEL, SEED = 10_000, 0.95, 0
CHUNK = 1_000_000  # values drawn at a time: bounds the memory
Mean = dict[str, float]


def interval(values: Iterable[float]) -> Mean:
    """Return {"mean", "low", "high", "n"} of the values of all utterances. ValueError if there are none."""
    x = np.asarray(list(values), np.float64)
    if not len(x):
        raise ValueError("an interval needs at least one value")
    rng = np.random.default_rng(SEED)
    most = max(1, CHUNK // len(x))  # resamples at a time
    parts = [min(most, RESAMPLES - start) for start in range(0, RESAMPLES, most)]
    means = np.concatenate([x[rng.integers(len(x), size=(part, len(x)))].mean(1) for part in parts])
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"mean": float(x.mean()), "low": float(low), "high": float(high), "n": len(x)}


def summary(rows: Iterable[Row]) -> dict[str, Mean]:
    """Return {column: mean and interval} for the metrics in `rows`, those of the noisy signals included."""
    rows = list(rows)
    names = [side + name for side in ("", "noisy_") for name in METRICS]
    found = {name: [row[name] for row in rows if name in row] for name in names}
    return {name: interval(values) for name, values in found.items() if values}


def gains(rows: Iterable[Row]) -> dict[str, Mean]:
    """Return {metric: mean and interval of enhanced minus noisy, utterance by utterance}."""
    rows = list(rows)
    found = {
        name: [r[name] - r[f"noisy_{name}"] for r in rows if name in r and f"noisy_{name}" in r]
        for name in METRICS
    }
    return {name: interval(values) for name, values in found.items() if values}


def findings(name: str, rows: list[Row], settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the results of one system as plain data: enhanced, noisy, gain, RTF, failures, settings."""
    means = summary(rows)
    noisy = {
        key.removeprefix("noisy_"): mean for key, mean in means.items() if key.startswith("noisy_")
    }
    processed = [row for row in rows if "process_s" in row]
    return {
        "system": name,
        "utterances": sum("error" not in row for row in rows),
        "failed": {row["name"]: row["error"] for row in rows if "error" in row},
        "audio_s": round(sum(row.get("audio_s", 0.0) for row in rows), 2),
        "rtf": sum(r["process_s"] for r in processed) / sum(r["audio_s"] for r in processed)
        if processed
        else None,
        "interval": {
            "level": LEVEL,
            "kind": "percentile bootstrap over utterances",
            "resamples": RESAMPLES,
            "seed": SEED,
        },
        "enhanced": {key: mean for key, mean in means.items() if key in METRICS},
        "noisy": noisy,
        "gain": gains(rows),
        "settings": settings or {},
    }


def table(result: dict[str, Any]) -> str:
    """Return `findings` as a Markdown table: noisy, the system, and the gain, in the paper's column order."""
    names = [name for name in METRICS if name in result["enhanced"]]
    speed = [] if result["rtf"] is None else [f"{result['rtf']:.4f}"]
    head = ["system", *(METRICS[name].title for name in names), *(["RTF"] if speed else [])]
    lines = [_line([result["system"], *(cell(name, result["enhanced"]) for name in names), *speed])]
    if result["noisy"]:
        blank = [""] * len(speed)
        lines.insert(0, _line(["noisy", *(cell(name, result["noisy"]) for name in names), *blank]))
        lines.append(_line(["gain", *(cell(name, result["gain"], "+") for name in names), *blank]))
    return "\n".join([_line(head), _rule(len(head)), *lines]) + "\n\n" + _footnote(result) + "\n"


def grouped(rows: list[Row], groups: dict[str, str]) -> dict[str, list[Row]]:
    """Return {group: its rows}, numbers in order of size, else alphabetically; rows of no group are left out."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["name"] in groups:
            found.setdefault(groups[row["name"]], []).append(row)
    return dict(sorted(found.items(), key=lambda item: _sortable(item[0])))


def group_table(rows: list[Row], groups: dict[str, str], column: str) -> str:
    """Return a Markdown table with a line per group: the mean of each metric, and its gain with the interval."""
    parts = grouped([row for row in rows if "error" not in row], groups)
    names = [
        name for name in METRICS if any(name in row for part in parts.values() for row in part)
    ]
    head = [column, "utterances", *(METRICS[name].title for name in names)]
    lines = []
    for group, part in parts.items():
        means, better = summary(part), gains(part)
        cells = [_both(n, means[n], better) if n in better else cell(n, means) for n in names]
        lines.append(_line([group, str(len(part)), *cells]))
    return "\n".join([_line(head), _rule(len(head)), *lines]) + "\n"


def read_groups(path: Path, column: str) -> dict[str, str]:
    """Return {utterance: value of `column`} from a tab-separated table whose first column names the utterance."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            header, *lines = list(csv.reader(file, delimiter="\t"))
    except OSError as error:
        raise QseError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as reason:
        raise QseError(
            f"{path} cannot be read as a table: {reason}; give a tab-separated text file with a header"
        ) from reason
    if column not in header[1:]:
        raise QseError(
            f"{path} has no column {column}: there are {', '.join(header[1:]) or 'none'}"
        )
    place = header.index(column)
    return {line[0]: line[place] for line in lines if len(line) > place}


def cell(name: str, means: dict[str, Mean], sign: str = "") -> str:
    """Return the mean and interval of a metric in its digits, "-" if there is none; sign "+" also marks gains."""
    if name not in means:  # no utterance has a value
        return "-"
    digits, mean = METRICS[name].digits, means[name]
    return f"{mean['mean']:{sign}.{digits}f} ({mean['low']:{sign}.{digits}f} to {mean['high']:{sign}.{digits}f})"


def _both(name: str, mean: Mean, gains: dict[str, Mean]) -> str:
    return f"{mean['mean']:.{METRICS[name].digits}f}, {cell(name, gains, '+')}"


def _footnote(result: dict[str, Any]) -> str:
    settings, failed, count = result["settings"], len(result["failed"]), result["utterances"]
    text = f"{count} utterance{'' if count == 1 else 's'}, {result['audio_s'] / 60:.1f} minutes"
    text += f"; {failed} failed" if failed else ""
    text += f"; read at {settings['sample_rate'] / 1000:g} kHz" if "sample_rate" in settings else ""
    text += (
        f"; each processed after {settings['lead_in']} others, as one stream"
        if "lead_in" in settings
        else ""
    )
    text += f"; weights of step {settings['step']}" if "step" in settings else ""
    text += f"; in brackets 95 % bootstrap intervals over utterances ({RESAMPLES} resamples, seed {SEED})"
    if result["rtf"] is not None:
        text += f"; RTF with --threads {settings.get('threads', 1)} and --jobs {settings.get('jobs', 1)}"
        text += f", on {settings['machine']}" if settings.get("machine") else ""
    return text + "."


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _rule(columns: int) -> str:
    return "|" + "---|" * columns


def _sortable(group: str) -> tuple[int, float, str]:
    try:
        return 0, float(group), group
    except ValueError:
        return 1, 0.0, group
