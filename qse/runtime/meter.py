"""Measure processing time against audio time.

RTF = processing time / audio time; below 1 is faster than real time.
"""

import numpy as np


class Meter:
    """Count the processing time of blocks in seconds: totals over all, quantiles over the last
    `window` blocks."""

    def __init__(self, sample_rate: int, window: int = 4096):
        self.sample_rate = sample_rate
        self.samples = 0
        self.seconds = 0.0
        self.longest = 0.0
        self.blocks = 0
        self._recent = np.zeros(window)

    def add(self, samples: int, seconds: float) -> None:
        """Count a block of `samples` per channel that took `seconds`."""
        self._recent[self.blocks % len(self._recent)] = seconds
        self.blocks += 1
        self.samples += samples
        self.seconds += seconds
        self.longest = max(self.longest, seconds)

    @property
    def rtf(self) -> float:
        """Return processing time / audio time of all blocks so far; 0 before the first block."""
        return self.seconds * self.sample_rate / self.samples if self.samples else 0.0

    def quantile(self, share: float) -> float:
        """Return the quantile `share` (0.5: median, 0.99: p99) of the times of the last blocks, in
        seconds."""
        recent = self._recent[: min(self.blocks, len(self._recent))]
        return float(np.quantile(recent, share)) if len(recent) else 0.0
