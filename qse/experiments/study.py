"""Run an experiment once per arm and seed; store each run when it ends, so that an interrupted experiment continues."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from ..audio.atomic_write import write_text
from ..errors import QseError
from .results import Row

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Train = Callable[
    [str, int, str], tuple[Row, list[Row]]
]  # arm, seed, title of the bar -> result, rows of the curve
FREE = (
    "arms",
    "seeds",
    "latency_arms",
    "latency_seconds",
)  # settings that may differ between the runs of one file


def run_all(path: Path, settings: "DataclassInstance", train: Train) -> tuple[list[Row], list[Row]]:
    """Return a result per seed and arm of `settings`, and the rows of all curves; both begin with arm and seed.

    `path` (JSON) holds the runs; one that it has is not trained again. Raises QseError if it was made with other
    settings than `settings`, or cannot be read.
    """
    values = asdict(settings)
    arms, seeds = values["arms"], values["seeds"]
    fixed = json.loads(json.dumps({key: value for key, value in values.items() if key not in FREE}))
    stored = _read(path, fixed)
    wanted = [(arm, seed) for seed in seeds for arm in arms]
    for number, (arm, seed) in enumerate(wanted, 1):
        key = f"{arm}, seed {seed}"
        if key not in stored:
            row, curve = train(arm, seed, f"{key} ({number} of {len(wanted)})")
            stored[key] = {"row": row, "curve": curve}
            write_text(path, json.dumps({"settings": fixed, "runs": stored}, indent=1))
    runs = [({"arm": arm, "seed": seed}, stored[f"{arm}, seed {seed}"]) for arm, seed in wanted]
    return [run | found["row"] for run, found in runs], [
        run | row for run, found in runs for row in found["curve"]
    ]


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Return the mean, and from two values on "± standard deviation"."""
    text = f"{mean(values):.{digits}f}"
    return text + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def listed(values: Sequence[Any]) -> str:
    """Return values with commas between them."""
    return ", ".join(map(str, values))


def of_arm(rows: Sequence[Row], arm: str, key: str) -> list[Any]:
    """Return the values `key` of the rows of an arm."""
    return [row[key] for row in rows if row["arm"] == arm]


def _read(path: Path, fixed: Row) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        settings, runs = found["settings"], found["runs"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QseError(
            f"{path}: cannot read these runs; delete the file or name another folder with --out"
        ) from error
    other = [key for key in fixed if settings.get(key) != fixed[key]]
    if other:
        made = f"{other[0]} = {settings.get(other[0])!r}"
        raise QseError(
            f"{path}: its runs have {made}, not {fixed[other[0]]!r}; name another folder with --out"
        )
    return runs
