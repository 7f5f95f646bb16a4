"""Read audio files for evaluation: one channel, at the rate at which an evaluation works."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..data.datasets import Pair
from ..data.recordings import length_and_rate, read_mono
from ..errors import QseError
from .signals import NARROW_BAND, SAMPLE_RATE, resampled


def read_pair(
    pair: Pair, needs_clean: bool, sample_rate: int = SAMPLE_RATE, strict: bool = True
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return clean (None if not needed) and noisy, float64 (samples,) at `sample_rate`.

    QseError if one is missing or, if `strict`, if the files differ in length or rate.
    """
    noisy = pair.noisy
    clean = pair.clean
    if noisy is None or (clean is None and needs_clean):
        side = "clean" if noisy else "noisy"
        raise QseError(f"{noisy or clean}: there is no {side} file of this name")
    if clean is None or not needs_clean:
        return None, read_rate(noisy, sample_rate)

    if strict:
        _check_alike(clean, noisy)
    return read_rate(clean, sample_rate), read_rate(noisy, sample_rate)


def read_rate(path: Path, sample_rate: int) -> np.ndarray:
    """Return the audio of `path` at `sample_rate`. QseError for a file of a lower rate."""
    audio, rate = read_mono(path)
    if rate >= sample_rate:
        return resampled(audio, rate, sample_rate)

    reason = f"{path} has {rate} Hz"
    if rate < NARROW_BAND:
        raise QseError(f"{reason}: metrics need {NARROW_BAND} Hz or more; leave it out")
    if rate < SAMPLE_RATE:
        raise QseError(f"{reason}: evaluate with sample_rate={NARROW_BAND}")
    raise QseError(f"{reason}: evaluate with sample_rate={rate}, or without")


def common_rate(pairs: Iterable[Pair]) -> int | None:
    """Return the rate of all files that can be read, None if they differ or there are none."""
    paths = []
    for pair in pairs:
        paths += pair.files
    rates = rates_of(paths)
    return rates.pop() if len(rates) == 1 else None


def rates_of(paths: Iterable[Path]) -> set[int]:
    """Return the sample rates of the files that can be read."""
    rates = set()
    for path in paths:
        with suppress(QseError):  # reported with the utterance
            rates.add(length_and_rate(path)[1])
    return rates


def _check_alike(path: Path, other: Path) -> None:
    """Raise QseError unless two files have the same length and rate."""
    samples, rate = length_and_rate(path)
    other_samples, other_rate = length_and_rate(other)
    if rate != other_rate:
        rates = f"{path} has {rate} Hz, but {other} has {other_rate} Hz"
        raise QseError(f"{rates}: convert one of them")
    if samples != other_samples:
        lengths = f"{path} has {samples} samples, but {other} has {other_samples}"
        raise QseError(f"{lengths}: align and cut them to equal length")
