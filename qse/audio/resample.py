"""Another sample rate, block by block (soxr)."""

from math import ceil

import numpy as np


class Resampler:
    """A stream of blocks (samples, channels) from one sample rate to another, in step with it (soxr, high quality)."""

    def __init__(self, source_rate: int, target_rate: int, channels: int):
        self._empty = np.zeros((0, channels), np.float32)
        self._soxr = None
        if source_rate != target_rate:
            import soxr

            self._soxr = soxr.ResampleStream(source_rate, target_rate, channels, dtype="float32")

    def process(self, block: np.ndarray) -> np.ndarray:
        """The next samples in -> the samples that are ready, (0 or more, channels)."""
        return self._soxr.resample_chunk(np.ascontiguousarray(block)) if self._soxr else block

    def finish(self) -> np.ndarray:
        """The last samples, when no more come in."""
        return self._soxr.resample_chunk(self._empty, last=True) if self._soxr else self._empty


def spare(sample_rate: int, file_rate: int) -> int:
    """Samples of silence after which the conversion back to `file_rate` never falls short by rounding."""
    return ceil(2 * sample_rate / file_rate)
