"""Compute means of scores with 95 % intervals, as plain data.

An interval is the percentile bootstrap over utterances (Efron 1979) with a fixed seed, as in the
paper's Tables 2 and 3: utterances are resampled with replacement, and the middle 95 % of the means
are kept. The gain is enhanced minus noisy of the same utterance: its interval shows whether a
system helps, which two separate intervals do not.
"""

import csv
import re
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from ..audio.folder_path import open_source
from ..bounded_text import LONGEST_TABLE, read_text
from ..errors import QseError
from .metrics import METRICS
from .store import Row, values_of

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 0
FEWEST = 8  # utterances; with fewer, the interval of a bootstrap is too narrow
FEW = " *"  # marks a mean of fewer
CHUNK = 1_000_000  # values drawn at a time: bounds the memory
LOGGED = re.compile(r"p\d{3}_\d+ \S+ -?\d+(\.\d+)?")  # utterance, noise, SNR in dB
Mean = dict[str, float]


def interval(values: Iterable[float]) -> Mean:
    """Return {"mean", "low", "high", "n"} of the values of all utterances. ValueError if none."""
    x = np.asarray(list(values), np.float64)
    if not len(x):
        raise ValueError("an interval needs at least one value")
    rng = np.random.default_rng(SEED)
    most = max(1, CHUNK // len(x))  # resamples at a time
    means = []
    for start in range(0, RESAMPLES, most):
        count = min(most, RESAMPLES - start)
        means.append(x[rng.integers(len(x), size=(count, len(x)))].mean(1))
    low, high = np.quantile(np.concatenate(means), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"mean": float(x.mean()), "low": float(low), "high": float(high), "n": len(x)}


def summary(rows: Iterable[Row]) -> dict[str, Mean]:
    """Return {column: mean and interval} of metrics, those of the noisy signals included."""
    rows = list(rows)
    found = {}
    for metric in METRICS:
        for name in (metric, f"noisy_{metric}"):
            values = values_of(rows, name)
            if values:
                found[name] = interval(values)
    return found


def gains(rows: Iterable[Row]) -> dict[str, Mean]:
    """Return {metric: mean and interval of enhanced minus noisy, utterance by utterance}."""
    rows = list(rows)
    found = {}
    for name in METRICS:
        before = f"noisy_{name}"
        values = [row[name] - row[before] for row in rows if name in row and before in row]
        if values:
            found[name] = interval(values)
    return found


def findings(name: str, rows: list[Row], settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the results of one system as plain data.

    Means of the enhanced and noisy signals, gains, RTF, delay, lengths, failures, damage, settings.
    """
    failed = {}
    scored = 0
    partial = 0
    for row in rows:
        has_scores = not row.keys().isdisjoint(METRICS)
        scored += has_scores
        if "error" in row:
            failed[row["name"]] = row["error"]
            partial += has_scores

    return {
        "system": name,
        "utterances": scored,
        "failed": failed,
        "partial": partial,
        "damaged": {row["name"]: row["damage"] for row in rows if "damage" in row},
        "audio_s": round(sum(values_of(rows, "audio_s")), 2),
        "rtf": _rtf(rows),
        "delay": _spread(values_of(rows, "delay")),
        "drift": _spread(values_of(rows, "drift")) if drifts(rows) else None,
        "inverted": len(values_of(rows, "inverted")),
        "trimmed": _spread(values_of(rows, "trimmed")),
        "interval": {
            "level": LEVEL,
            "kind": "percentile bootstrap over utterances",
            "resamples": RESAMPLES,
            "seed": SEED,
        },
        **sides(rows),
        "settings": settings or {},
    }


def drifts(rows: list[Row]) -> bool:
    """Return whether most of the outputs that were compared drift."""
    compared = len(values_of(rows, "delay"))
    return 2 * len(values_of(rows, "drift")) > compared


def sides(rows: list[Row]) -> dict[str, dict[str, Mean]]:
    """Return {"enhanced", "noisy", "gain": {metric: mean and interval}} of some rows."""
    means = summary(rows)
    noisy = {}
    enhanced = {}
    for name in METRICS:
        if name in means:
            enhanced[name] = means[name]
        if f"noisy_{name}" in means:
            noisy[name] = means[f"noisy_{name}"]
    return {"enhanced": enhanced, "noisy": noisy, "gain": gains(rows)}


def grouped(rows: list[Row], groups: dict[str, str]) -> dict[str, list[Row]]:
    """Return {group: its rows}, numbers in order of size, else alphabetically.

    Rows of no group are left out.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["name"] in groups:
            found.setdefault(groups[row["name"]], []).append(row)
    return dict(sorted(found.items(), key=lambda item: _sortable(item[0])))


def read_groups(path: Path, column: str) -> dict[str, str]:
    """Return {utterance: value of `column`} from a tab-separated table.

    Its first column names the utterance. The log of a part of VoiceBank+DEMAND, lines such as
    "p232_001 bus 17.5", has the columns noise and snr.
    """
    header, *lines = _table(path)
    if column not in header[1:]:
        others = ", ".join(header[1:]) or "none"
        raise QseError(f"{path} has no column {column}: there are {others}")
    place = header.index(column)
    return {line[0]: line[place] for line in lines if len(line) > place}


def _table(path: Path) -> list[list[str]]:
    """Return the cells of a table, its header first."""
    try:
        text = read_text(Path(path), LONGEST_TABLE, newline="", opener=open_source)
        logged = [line.split() for line in text.splitlines() if line.strip()]
        if logged and all(LOGGED.fullmatch(" ".join(words)) for words in logged):
            return [["utterance", "noise", "snr"], *logged]
        header, *lines = list(csv.reader(StringIO(text, newline=""), delimiter="\t"))
    except OSError as error:
        raise QseError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, csv.Error) as reason:
        wanted = "give a tab-separated text file with a header"
        raise QseError(f"{path} cannot be read as a table: {reason}; {wanted}") from reason
    return [header, *lines]


def cell(name: str, means: dict[str, Mean], sign: str = "", is_short: bool = False) -> str:
    """Return the mean and interval of a metric in its digits, the mean alone with the mark FEW of
    fewer than FEWEST utterances, "-" if there is none.

    sign: "+" also marks gains. is_short: half of the interval in the place of its ends.
    """
    if name not in means:  # no utterance has a value
        return "-"
    form = f"{sign}.{METRICS[name].digits}f"
    found = means[name]
    if found["n"] < FEWEST:
        return f"{found['mean']:{form}}{FEW}"
    if is_short:
        half = (found["high"] - found["low"]) / 2
        return f"{found['mean']:{form}} ±{half:.{METRICS[name].digits}f}"
    return f"{found['mean']:{form}} ({found['low']:{form}} to {found['high']:{form}})"


def _rtf(rows: list[Row]) -> float | None:
    """Return processing time divided by audio time, None if nothing was processed."""
    processed = [row for row in rows if "process_s" in row]
    if not processed:
        return None
    return sum(values_of(processed, "process_s")) / sum(values_of(processed, "audio_s"))


def _spread(samples: list[float]) -> dict[str, int] | None:
    """Return median, least and largest of numbers of samples, and how many; None if none."""
    if not samples:
        return None
    median = round(float(np.median(samples)))
    return {
        "median": median,
        "low": int(min(samples)),
        "high": int(max(samples)),
        "n": len(samples),
    }


def _sortable(group: str) -> tuple[int, float, str]:
    try:
        return 0, float(group), group
    except ValueError:
        return 1, 0.0, group
