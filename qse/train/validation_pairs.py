"""Read the pairs that a run is validated with, and refuse those that cannot be scored."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..data.datasets import Pair, Stages, pair_folders
from ..errors import QseError
from ..evaluate.reading import common_rate, read_pair
from ..evaluate.scoring import score_pair
from ..evaluate.signals import SAMPLE_RATE

# seconds: STOI needs 0.4 of speech, and the PESQ package crashes on long files
SHORTEST = 0.5
LONGEST = 30


@dataclass(frozen=True)
class Utterance:
    """float32 (samples,), noisy and clean, of one length, at `sample_rate` in Hz."""

    name: str
    noisy: np.ndarray
    clean: np.ndarray
    sample_rate: int = SAMPLE_RATE


def find_pairs(folder: Path, sample_rate: int) -> list[Pair]:
    """Return the files of equal names in `folder`/noisy and `folder`/clean. Raises QseError when
    there are none.

    `sample_rate` is the network's, a multiple of SAMPLE_RATE, at which the metrics are defined.
    """
    if sample_rate % SAMPLE_RATE:
        needs = f"a model at {SAMPLE_RATE} Hz or a multiple, this one works at {sample_rate} Hz"
        raise QseError(f"{folder}: validation needs {needs}; train without valid=DIR")
    noisy = folder / "noisy"
    clean = folder / "clean"
    if not (noisy.is_dir() and clean.is_dir()):
        raise QseError(f"{folder}: no pairs; put files of equal names into {noisy} and {clean}")
    return pair_folders(noisy, clean)


def untold(what: str, done: int, total: int) -> None:
    """Show no progress."""


def read_pairs(
    pairs: list[Pair], sample_rate: int = SAMPLE_RATE, progress: Stages = untold
) -> list[Utterance]:
    """Read pairs at `rate_of` them, and check that each can be scored.

    Raises QseError for a pair of different lengths, or one that the metrics cannot score.
    """
    rate = rate_of(pairs, sample_rate)
    found = []
    for number, pair in enumerate(pairs):
        progress(f"reading validation pairs: {len(pairs)}", number, len(pairs))
        found.append(_read(pair, rate))
    return found


def rate_of(pairs: list[Pair], sample_rate: int) -> int:
    """Return `sample_rate`, that of the network, if all files have it, else SAMPLE_RATE."""
    if sample_rate > SAMPLE_RATE and common_rate(pairs) == sample_rate:
        return sample_rate
    return SAMPLE_RATE


def _read(pair: Pair, rate: int) -> Utterance:
    clean, noisy = read_pair(pair, needs_clean=True, sample_rate=rate)
    if clean is None or not clean.any():
        raise QseError(
            f"{pair.clean}: is silent, and metrics are undefined against silence; "
            "leave the pair out"
        )
    if not SHORTEST <= len(clean) / rate <= LONGEST:
        raise QseError(
            f"{pair.clean}: validation files last {SHORTEST:g} to {LONGEST} s; cut it, "
            "or leave it out"
        )
    try:
        score_pair(clean=clean, enhanced=noisy, sample_rate=rate, metrics=["stoi", "pesq_wb"])
    except ValueError as error:
        raise QseError(f"{pair.clean}: cannot be scored ({error}); leave the pair out") from error
    return Utterance(pair.name, noisy.astype(np.float32), clean.astype(np.float32), rate)
