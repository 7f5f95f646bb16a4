"""Read audio files for evaluation: one channel, at the rate at which an evaluation works."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..data.datasets import SAMPLE_RATE, Pair
from ..data.recordings import length_and_rate, read_mono
from ..errors import QseError
from .metrics import resampled


def read_pair(
    pair: Pair, needs_clean: bool, sample_rate: int = SAMPLE_RATE
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return clean (None if not needed) and noisy, float64 (samples,) at `sample_rate`.

    QseError if one is missing, or if they differ in length or rate.
    """
    noisy, clean = pair.noisy, pair.clean
    if noisy is None or (clean is None and needs_clean):
        side = "clean" if noisy else "noisy"
        raise QseError(f"{noisy or clean}: there is no {side} file of this name")
    reference = read_like(clean, noisy, sample_rate) if clean and needs_clean else None
    return reference, read_rate(noisy, sample_rate)


def read_like(path: Path, other: Path, sample_rate: int = SAMPLE_RATE) -> np.ndarray:
    """Return the audio of `path` at `sample_rate`. QseError unless length and rate of the file are those of `other`."""
    (samples, rate), (other_samples, other_rate) = length_and_rate(path), length_and_rate(other)
    if rate != other_rate:
        raise QseError(
            f"{path} has {rate} Hz, but {other} has {other_rate} Hz: convert one of them"
        )
    if samples != other_samples:
        raise QseError(
            f"{path} has {samples} samples, but {other} has {other_samples}: align and cut them to equal length"
        )
    return read_rate(path, sample_rate)


def read_rate(path: Path, sample_rate: int) -> np.ndarray:
    """Return the audio of `path` at `sample_rate`. QseError for a file of a lower rate, if that is above 16 kHz."""
    audio, rate = read_mono(path)
    if SAMPLE_RATE < sample_rate > rate:
        fitting = max(rate, SAMPLE_RATE)
        raise QseError(f"{path} has {rate} Hz: evaluate with sample_rate={fitting}, or without")
    return resampled(audio, rate, sample_rate)


def common_rate(pairs: Iterable[Pair]) -> int | None:
    """Return the sample rate of all files that can be read, None if they differ or there are none."""
    rates = set()
    for path in (path for pair in pairs for path in (pair.noisy, pair.clean) if path):
        try:
            rates.add(length_and_rate(path)[1])
        except QseError:  # reported with the utterance
            continue
    return rates.pop() if len(rates) == 1 else None
