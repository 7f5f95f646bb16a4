"""Notice pauses in sound, in which samples can be left out unheard."""

import math

import numpy as np

QUIET = 10**-1.5  # level of a pause relative to the loudest sound of the last seconds: -30 dB
FAINT = 1e-3  # level that counts as a pause in any case: -60 dBFS
MEMORY = 5.0  # seconds in which the loudest level decays to 1 / e
LONG = 0.2  # seconds of a long pause


class Pause:
    """Compare the peaks of blocks with the loudest one of the last seconds."""

    def __init__(self, sample_rate: int):
        self._rate = sample_rate
        self._loudest = 1.0
        self._quiet = 0  # samples since the last that was no pause

    def add(self, block: np.ndarray) -> None:
        """Hear the next block (samples, 1)."""
        level = _peak(block)
        decay = math.exp(-len(block) / (MEMORY * self._rate))
        self._loudest = max(level, decay * self._loudest)
        self._quiet = self._quiet + len(block) if level <= self._limit else 0

    def holds(self, ahead: np.ndarray) -> bool:
        """Return whether the sound pauses now and in the samples that follow, (samples, 1)."""
        return self._quiet > 0 and _peak(ahead) <= self._limit

    @property
    def _limit(self) -> float:
        return max(FAINT, QUIET * self._loudest)

    @property
    def is_long(self) -> bool:
        """Return whether the sound has paused for LONG seconds."""
        return self._quiet >= LONG * self._rate


def _peak(block: np.ndarray) -> float:
    return float(np.abs(block).max(initial=0.0))
