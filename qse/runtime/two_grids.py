"""Run a graph on two grids of frames, half a hop of its network apart, and put out the mean.

Every sample is then estimated twice, from different frames (Coifman and Donoho 1995, "cycle
spinning"). The two runs share nothing but the graph: in a stream they are called in turn, for a
recording each may run on a core of its own.
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


class AlternatingSession:
    """Run two sessions of one graph along one signal, each on every other half of its hop.

    The output lags by half a hop of the graph more than that of one session.
    """

    def __init__(self, first: Session, second: Session, hop_length: int):
        """`hop_length`: of the graph, even."""
        self._next = first
        self._other = second
        self._half = hop_length // 2
        self._noisy = np.zeros(hop_length, np.float32)
        self._waiting = np.zeros(self._half, np.float32)  # enhanced by the other one
        self._mean = np.zeros(self._half, np.float32)

    def step(self, half: np.ndarray) -> np.ndarray:
        """Enhance half a hop of the graph: return as many samples, a buffer that the next step
        overwrites."""
        self._noisy[: self._half] = self._noisy[self._half :]
        self._noisy[self._half :] = half
        enhanced = self._next.step(self._noisy)
        np.add(self._waiting, enhanced[: self._half], out=self._mean)
        self._mean *= 0.5
        self._waiting[:] = enhanced[self._half :]
        self._next, self._other = self._other, self._next
        return self._mean

    def reset(self) -> None:
        """Set all states to zero."""
        self._next.reset()
        self._other.reset()
        self._noisy.fill(0)
        self._waiting.fill(0)


class TwoGridSession:
    """Run two sessions of one graph of several hops along one signal; the second one's frames lie
    `shift` samples later. The output lags by `shift` samples more than that of one session."""

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


class GridRun:
    """Run a session along a recording that comes in blocks of any length.

    The mean of two of them, one with `after` and one with `before` set to the distance of the
    grids, is the output of the two sessions above.
    """

    def __init__(self, session: Session, hop_length: int, before: int = 0, after: int = 0):
        """`before`: samples of silence in front of the input; `after`: in front of the output."""
        self._session = session
        self._hop_length = hop_length
        self._noisy = np.zeros(before, np.float32)  # of the hop that is not complete
        self._silence = np.zeros(after, np.float32)

    def process(self, noisy: np.ndarray) -> np.ndarray:
        """Take (samples,); return the enhanced samples of the hops that they complete."""
        noisy = np.concatenate([self._noisy, noisy])
        whole = len(noisy) - len(noisy) % self._hop_length
        enhanced = [self._silence]
        for hop in noisy[:whole].reshape(-1, self._hop_length):
            enhanced.append(self._session.step(hop).copy())
        self._noisy = noisy[whole:]
        self._silence = self._silence[:0]
        return np.concatenate(enhanced)
