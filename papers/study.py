"""Run an experiment once per arm and seed; store each run when it ends.

An interrupted experiment continues with the runs that are missing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from qse.audio.atomic_write import write_text
from qse.audio.folder_path import open_found
from qse.errors import QseError

from .base import Experiment
from .results import Row, column, rows_with

# arm, seed, title of the bar -> result, rows of the curve
Train = Callable[[str, int, str], tuple[Row, list[Row]]]


def run_all(path: Path, settings: Experiment, train: Train) -> tuple[list[Row], list[Row]]:
    """Return a result per seed and arm of `settings`, and the rows of all curves.

    Both begin with arm and seed. `path` (JSON) holds the runs; one that it has is not trained
    again. Raises QseError if it was made with other settings than `settings`, those in FREE
    excepted, or cannot be read.
    """
    values = asdict(settings)
    fixed = {key: value for key, value in values.items() if key not in settings.FREE}
    fixed = json.loads(json.dumps(fixed))
    stored = _read(path, fixed)
    total = len(values["seeds"]) * len(values["arms"])
    number = 0
    results: list[Row] = []
    curves: list[Row] = []
    for seed in values["seeds"]:
        for arm in values["arms"]:
            number += 1
            key = f"{arm}, seed {seed}"
            if key not in stored:
                row, curve = train(arm, seed, f"{key} ({number} of {total})")
                stored[key] = {"row": row, "curve": curve}
                text = json.dumps({"settings": fixed, "runs": stored}, indent=1)
                write_text(path, text, source=None)
            name = {"arm": arm, "seed": seed}
            results.append(name | stored[key]["row"])
            curves += [name | row for row in stored[key]["curve"]]
    return results, curves


def mean_and_deviation(values: Sequence[float], digits: int = 2) -> str:
    """Return the mean, and from two values on "± standard deviation"."""
    text = f"{mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {stdev(values):.{digits}f}"
    return text


def listed(values: Sequence[Any]) -> str:
    """Return values with commas between them."""
    return ", ".join(map(str, values))


def arm_values(rows: Sequence[Row], arm: str, key: str) -> list[Any]:
    """Return the values `key` of the rows of an arm."""
    return column(rows_with(rows, arm=arm), key)


def table_by_arm(
    arms: Sequence[str],
    rows: Sequence[Row],
    metrics: Mapping[str, int],
    paper: Mapping[str, Mapping[str, Any]],
) -> list[Row]:
    """Return a row per arm: its parameters, mean and deviation of each metric, the paper's values.

    metrics: {key of the rows, also the title: digits}. paper: {title: {arm: value}}; "-" stands for
    an arm that the paper does not have.
    """
    table: list[Row] = []
    for arm in arms:
        row: Row = {"network": arm, "parameters": arm_values(rows, arm, "parameters")[0]}
        for key, digits in metrics.items():
            row[key] = mean_and_deviation(arm_values(rows, arm, key), digits)
        for title, values in paper.items():
            row[title] = values.get(arm, "-")
        table.append(row)
    return table


def known_of(arms: Sequence[str], paper: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of `paper` for `arms`, in their order."""
    return {arm: paper[arm] for arm in arms if arm in paper}


def _read(path: Path, fixed: Row) -> dict[str, Any]:
    """Return the runs of a file, by "ARM, seed N"; none if it does not exist."""
    if not path.exists():
        return {}

    try:
        with open(path, encoding="utf-8", opener=open_found) as file:
            found = json.load(file)
        settings = found["settings"]
        runs = found["runs"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QseError(
            f"{path}: cannot read these runs; delete the file or name another folder with --out"
        ) from error

    for key, value in fixed.items():
        if settings.get(key) != value:
            made = f"{key} = {settings.get(key)!r}"
            raise QseError(
                f"{path}: its runs have {made}, not {value!r}; name another folder with --out"
            )
    return runs
