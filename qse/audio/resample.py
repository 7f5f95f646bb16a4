"""Convert the sample rate block by block (soxr)."""

from collections.abc import Iterable, Iterator
from math import ceil

import numpy as np


class Resampler:
    """Convert blocks (samples, channels) to another sample rate, aligned with the input (soxr,
    high quality)."""

    def __init__(self, source_rate: float, target_rate: float, channels: int):
        self._empty = np.zeros((0, channels), np.float32)
        self._soxr = None
        if source_rate != target_rate:
            import soxr

            self._soxr = soxr.ResampleStream(source_rate, target_rate, channels, dtype="float32")

    def process(self, block: np.ndarray) -> np.ndarray:
        """Take the next samples; return the converted ones that are ready, (0 or more,
        channels)."""
        return self._soxr.resample_chunk(np.ascontiguousarray(block)) if self._soxr else block

    def finish(self) -> np.ndarray:
        """Return the last samples, at the end of the input."""
        return self._soxr.resample_chunk(self._empty, last=True) if self._soxr else self._empty


def converted(
    blocks: Iterable[np.ndarray], source_rate: float, target_rate: float, channels: int
) -> Iterator[np.ndarray]:
    """Yield the blocks (samples, channels) of a whole signal at another sample rate."""
    converter = Resampler(source_rate, target_rate, channels)
    for block in blocks:
        yield converter.process(block)
    yield converter.finish()


def rounding_reserve(sample_rate: float, file_rate: float) -> int:
    """Return how many samples of silence make the conversion back to `file_rate` long enough
    despite rounding."""
    return ceil(2 * sample_rate / file_rate)
