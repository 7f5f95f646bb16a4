"""Between two threads: a ring of samples that neither side ever waits for, and a bell that wakes the one who may.

One thread writes and one reads. Each moves only its own counter, after the samples are in place; storing an integer is
a single step for the interpreter, so no lock is needed. Nothing is allocated after the beginning.
"""

from threading import Lock

import numpy as np


class RingBuffer:
    """At most `capacity` samples of `channels` on their way from one thread to another, oldest first."""

    def __init__(self, capacity: int, channels: int):
        self.channels, self._samples = channels, np.zeros((capacity, channels), np.float32)
        self._written = self._read = 0  # since the beginning; they only grow

    @property
    def waiting(self) -> int:
        """Samples per channel that can be read now."""
        return self._written - self._read

    @property
    def room(self) -> int:
        """Samples per channel that can be written now."""
        return len(self._samples) - self.waiting

    def write(self, block: np.ndarray) -> int:
        """Append as much of `block` (samples, channels) as there is room for, and return how much that was."""
        count = min(len(block), self.room)
        at, first = self._cut(self._written, count)
        self._samples[at : at + first] = block[:first]
        self._samples[: count - first] = block[first:count]
        self._written += count
        return count

    def read(self, out: np.ndarray) -> int:
        """Move the oldest samples into `out` (samples, channels), and return how many there were."""
        count = min(len(out), self.waiting)
        at, first = self._cut(self._read, count)
        out[:first] = self._samples[at : at + first]
        out[first:count] = self._samples[: count - first]
        self._read += count
        return count

    def skip(self, count: int) -> None:
        """Throw the oldest `count` samples away, or as many as there are; the reader's call."""
        self._read += min(count, self.waiting)

    def _cut(self, counter: int, count: int) -> tuple[int, int]:
        """Where in memory a counter points, and how many of the next `count` samples lie before memory's end."""
        at = counter % len(self._samples)
        return at, min(count, len(self._samples) - at)


class WakeSignal:
    """`ring` never waits and never fails; `wait` sleeps until it has rung since the last time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lock.acquire()

    def ring(self) -> None:
        """Wake the thread that waits."""
        if self._lock.locked():
            try:
                self._lock.release()
            except RuntimeError:  # another thread rang at the same moment
                return

    def wait(self, seconds: float) -> bool:
        """Sleep until the bell rings, `seconds` at most; whether it rang."""
        return self._lock.acquire(timeout=seconds)
