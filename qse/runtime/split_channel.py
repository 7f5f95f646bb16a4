"""Cut a recording into pieces that run at the same time, each with a run-in before it.

A model that begins in the middle of a recording has forgotten what came before; after the run-in
its output is close to that of an uninterrupted run, not equal to it.
"""

from collections import deque
from concurrent.futures import Executor

import numpy as np

from .channel import EngineChannel, silence_at_end
from .engine import Engine

RUN_IN = 16.0  # seconds; docs/performance.md has the differences after 2 to 16 s


class SplitChannel:
    """A channel on its way through a streaming model in pieces; see channel.Channel."""

    def __init__(
        self, engine: Engine, pool: Executor | None, seconds: float, run_in: float = RUN_IN
    ):
        """Cut into pieces of `seconds`, each begun `run_in` seconds early; both are rounded up to
        whole hops, so that the frames of all pieces lie where they do without a cut."""
        self.latency = engine.latency
        self._engine = engine
        self._pool = pool
        self._length = _whole_hops(seconds, engine)
        self._run_in = _whole_hops(run_in, engine)
        self._at = 0  # samples that were sent
        self._begun = 0  # pieces
        self._open: list[_Piece] = []  # those that still take samples
        self._sent: deque[list[_Piece]] = deque()  # per block those that got a part of it

    def send(self, noisy: np.ndarray) -> None:
        """See Channel."""
        end = self._at + len(noisy)
        while self._begun == 0 or self._begun * self._length - self._run_in < end:
            self._begin()
        for piece in self._open:
            piece.send(noisy, self._at)
        self._sent.append(self._open)
        self._open = [piece for piece in self._open if piece.takes(end)]
        self._at = end

    def _begin(self) -> None:
        number = self._begun
        begin = max(0, number * self._length - self._run_in)
        first = number * self._length + self.latency if number else 0
        last = (number + 1) * self._length + self.latency
        channel = EngineChannel(self._engine, self._pool)
        self._open.append(_Piece(channel, self._engine.graph_hop_length, begin, first, last))
        self._begun += 1

    def send_end(self) -> None:
        """See Channel."""
        self.send(silence_at_end(self._engine, self._at))

    def receive(self) -> np.ndarray:
        """See Channel."""
        enhanced = [piece.receive() for piece in self._sent.popleft()]
        return np.concatenate(enhanced)

    def close(self) -> None:
        """See Channel."""
        for pieces in (self._open, *self._sent):
            for piece in pieces:
                piece.channel.close()


class _Piece:
    """One piece: it takes the samples from `begin` on and puts out those from `first` to `last`,
    which are counted in the output of the whole channel."""

    def __init__(self, channel: EngineChannel, hop: int, begin: int, first: int, last: int):
        self.channel = channel
        self._begin = begin
        self._end = last + -last % hop
        self._first = first
        self._last = last
        self._at = begin  # of the next enhanced sample

    def takes(self, at: int) -> bool:
        """Return whether it takes the sample `at`, or a later one."""
        return at < self._end

    def send(self, noisy: np.ndarray, at: int) -> None:
        """Send what it takes of `noisy`, whose first sample is the one `at`."""
        self.channel.send(noisy[max(0, self._begin - at) : max(0, self._end - at)])

    def receive(self) -> np.ndarray:
        """Wait for the oldest block; return the samples of the piece that it completes."""
        enhanced = self.channel.receive()
        start = max(0, self._first - self._at)
        stop = max(0, self._last - self._at)
        self._at += len(enhanced)
        return enhanced[start:stop]


def _whole_hops(seconds: float, engine: Engine) -> int:
    """Return `seconds` in samples, rounded up to hops of the graph."""
    samples = round(seconds * engine.sample_rate)
    return samples + -samples % engine.graph_hop_length
