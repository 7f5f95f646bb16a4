"""Measure the level of a signal over the last half second."""

import math
from collections import deque
from time import monotonic

import numpy as np

FLOOR_DBFS = -120.0
SPAN = 0.5  # seconds
STALE = 1.0  # seconds without samples after which the level is that of silence


class Level:
    """The RMS level of the last SPAN seconds, or of what came since the beginning."""

    def __init__(self, sample_rate: int):
        self._span = SPAN * sample_rate
        self._blocks: deque[tuple[int, float]] = deque()  # samples and mean power of each
        self._samples = 0
        self._added = 0.0  # when

    def add(self, block: np.ndarray) -> None:
        """Count a block (samples,) or (samples, channels)."""
        if not np.size(block):
            return
        power = float(np.mean(np.square(block, dtype=np.float64)))
        self._blocks.append((len(block), power))
        self._samples += len(block)
        self._added = monotonic()
        while self._samples - self._blocks[0][0] >= self._span:
            self._samples -= self._blocks.popleft()[0]

    @property
    def dbfs(self) -> float:
        """Return the level in dB relative to full scale 1.0, at least FLOOR_DBFS; that also where
        nothing has come for STALE seconds, as from a suspended source."""
        if monotonic() - self._added > STALE:
            return FLOOR_DBFS
        blocks = tuple(self._blocks)  # another thread may add to them
        samples = sum(length for length, _ in blocks)
        power = sum(length * power for length, power in blocks) / max(1, samples)
        return max(FLOOR_DBFS, 10 * math.log10(power)) if power > 0 else FLOOR_DBFS
