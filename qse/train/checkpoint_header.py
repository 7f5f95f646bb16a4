"""Check the header of a checkpoint, which holds numbers as text and may come from anywhere."""

import json
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path

from ..errors import QseError

CURE = "train again, or name another run"
MOST_DIGITS = 18  # of a whole number: samples of two million years
LONGEST = 1e12  # seconds

Parser = Callable[[str], object]


def parse_count(text: str) -> int:
    """Read a whole number from 0 on. Raises ValueError for anything else, and for more digits than
    one can have."""
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        raise ValueError("a whole number is needed")
    return int(text)


def parse_seconds(text: str) -> float:
    """Read a duration, or a share of one, from 0 on. Raises ValueError for anything else."""
    seconds = float(text)
    if not 0 <= seconds <= LONGEST:
        raise ValueError("a duration is needed")
    return seconds


def parse_scale(text: str) -> float:
    """Read a finite number above 0. Raises ValueError for anything else."""
    scale = float(text)
    if not 0 < scale < inf:
        raise ValueError("a number above 0 is needed")
    return scale


def parse_sums(text: str) -> dict[str, float]:
    """Read the sums of the loss terms since the last row of the curves.

    Raises ValueError unless they are a table.
    """
    try:
        sums = json.loads(text)
    except RecursionError:
        sums = None
    if not isinstance(sums, dict):
        raise ValueError("a table is needed")
    return {name: float(value) for name, value in sums.items()}


NUMBERS: dict[str, Parser] = {
    "step": parse_count,
    "skipped": parse_count,
    "heard": parse_count,
    "averaged": parse_count,
    "seconds": parse_seconds,
}
# not in headers of early runs, or only in those of some
LATER: dict[str, Parser] = {
    "best": float,
    "validated": parse_count,
    "sums": parse_sums,
    "counts": parse_sums,
    "loss_scale": parse_scale,
    "scaled_steps": parse_count,
    "passed": parse_seconds,
}


def check_header(path: Path, header: Mapping[str, str], whole: bool = True) -> None:
    """Raise QseError, naming the file, for a header with something else in the place of a number,
    or, if it is `whole`, without one of NUMBERS."""
    for key, parse in (NUMBERS | LATER).items():
        if key not in header and (key in LATER or not whole):
            continue
        try:
            parse(header[key])
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise QseError(
                f"{path}: is damaged, its header has no valid {key!r}; {CURE}"
            ) from error
