"""Pass samples between two threads: a ring buffer without locks, and a signal that wakes the
reading thread.

One thread writes and one reads. Each changes only its own counter, after the samples are in place;
storing an integer is atomic in the interpreter, so no lock is needed. Nothing is allocated after
the construction.
"""

from threading import Lock

import numpy as np


class RingBuffer:
    """A first-in, first-out buffer for at most `capacity` samples of `channels`."""

    def __init__(self, capacity: int, channels: int):
        self.channels = channels
        self._samples = np.zeros((capacity, channels), np.float32)
        self._written = 0  # samples in all; it only grows
        self._read = 0  # samples in all; it only grows

    @property
    def waiting(self) -> int:
        """Samples per channel that can be read now."""
        return self._written - self._read

    @property
    def free(self) -> int:
        """Samples per channel that can be written now."""
        return len(self._samples) - self.waiting

    def write(self, block: np.ndarray) -> int:
        """Append as much of `block` (samples, channels) as fits, and return how many samples that
        were."""
        count = min(len(block), self.free)
        at, first = self._cut(self._written, count)
        self._samples[at : at + first] = block[:first]
        self._samples[: count - first] = block[first:count]
        self._written += count
        return count

    def read(self, out: np.ndarray) -> int:
        """Move the oldest samples into `out` (samples, channels), and return how many there
        were."""
        count = self.peek(out)
        self._read += count
        return count

    def peek(self, out: np.ndarray) -> int:
        """Copy the oldest samples into `out` (samples, channels), and return how many there
        were."""
        count = min(len(out), self.waiting)
        at, first = self._cut(self._read, count)
        out[:first] = self._samples[at : at + first]
        out[first:count] = self._samples[: count - first]
        return count

    def skip(self, count: int) -> None:
        """Drop the oldest `count` samples, or as many as there are; only the reading thread may
        call it."""
        self._read += min(count, self.waiting)

    def _cut(self, counter: int, count: int) -> tuple[int, int]:
        """Return the index for a counter, and how many of the next `count` samples lie before the
        array's end."""
        at = counter % len(self._samples)
        return at, min(count, len(self._samples) - at)


class WakeSignal:
    """An event for one waiting thread: `set` never blocks; `wait` blocks until it was set since the
    last time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Wake the thread that waits."""
        if self._lock.locked():
            try:
                self._lock.release()
            except RuntimeError:  # another thread set it at the same moment
                return

    def wait(self, seconds: float) -> bool:
        """Sleep until it is set, `seconds` at most; return whether it was set."""
        return self._lock.acquire(timeout=seconds)
