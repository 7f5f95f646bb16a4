"""Run a graph on two grids of frames, half a hop of its network apart, and put out the mean.

Every sample is then estimated twice, from different frames (Coifman and Donoho 1995, "cycle
spinning"). The two runs share nothing but the graph.
"""

from typing import Protocol

import numpy as np


class Session(Protocol):
    """Run a graph along one signal, hop by hop."""

    def step(self, hop: np.ndarray) -> np.ndarray: ...

    def reset(self) -> None: ...


class Delay:
    """Delay a signal that comes in hops by `samples`, at most a hop."""

    def __init__(self, samples: int, hop_length: int):
        self._samples = samples
        self._buffer = np.zeros(samples + hop_length, np.float32)  # the past, then the newest hop

    def step(self, hop: np.ndarray) -> np.ndarray:
        """Return as many samples as `hop` has, in a buffer that the next step overwrites."""
        self._buffer[: self._samples] = self._buffer[len(hop) :]
        self._buffer[self._samples :] = hop
        return self._buffer[: len(hop)]

    def reset(self) -> None:
        self._buffer.fill(0)


class TwoGridSession:
    """Run two sessions of one graph along one signal; the second one's frames lie `shift` samples
    later. The output lags by `shift` samples more than that of one session."""

    def __init__(self, first: Session, second: Session, shift: int, hop_length: int):
        self._first = first
        self._second = second
        self._noisy = Delay(shift, hop_length)
        self._enhanced = Delay(shift, hop_length)
        self._mean = np.zeros(hop_length, np.float32)

    def step(self, hop: np.ndarray) -> np.ndarray:
        """Enhance `hop` (hop_length,): return (hop_length,), a buffer that the next step
        overwrites."""
        first = self._enhanced.step(self._first.step(hop))
        second = self._second.step(self._noisy.step(hop))
        np.add(first, second, out=self._mean)
        self._mean *= 0.5
        return self._mean

    def reset(self) -> None:
        """Set all states to zero."""
        for part in (self._first, self._second, self._noisy, self._enhanced):
            part.reset()
