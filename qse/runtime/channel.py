"""Enhance the channels of a recording: each grid of frames of each channel in a queue of its own,
so that they run on as many cores as there are.

The output is that of a stream, bit by bit, whatever the number of cores.
"""

from collections import deque
from concurrent.futures import Executor, Future
from copy import deepcopy
from typing import Protocol

import numpy as np

from .engine import Engine
from .offline import OfflineModel
from .serial_queue import SerialQueue
from .stream import HopStream


class Channel(Protocol):
    """One channel on its way through a model: blocks are sent, and received in the same order.

    `latency`: samples by which the output lags the input.
    """

    latency: int

    def send(self, noisy: np.ndarray) -> None:
        """Send the next block, (samples,) float32 at the sample rate of the model."""

    def send_end(self) -> None:
        """Send what makes the model put out its last samples."""

    def receive(self) -> np.ndarray:
        """Wait for the oldest block that was sent; return the samples that are enhanced by then."""

    def close(self) -> None:
        """Give up the blocks that were not received; return when none is processed any more."""


class EngineChannel:
    """A channel on its way through a streaming model."""

    def __init__(self, engine: Engine, pool: Executor | None):
        self.latency = engine.latency
        self._engine = engine
        self._pool = pool
        self._runs = engine.grid_runs()
        self._queues = [SerialQueue(pool) for _ in self._runs]
        self._sent: deque[tuple[np.ndarray, list[Future]]] = deque()
        self._length = 0  # of all that was sent
        # enhanced by each run, not put out yet
        self._enhanced = [np.zeros(0, np.float32) for _ in self._runs]
        self._noisy = np.zeros(0, np.float32)  # what they were enhanced from, and the rest
        self._restarted: HopStream | None = None

    def twin(self) -> "EngineChannel":
        """Return a channel that was sent the same samples and goes on with others."""
        twin = EngineChannel(self._engine, self._pool)
        twin._sent = self._sent.copy()
        twin._length = self._length
        twin._enhanced = self._enhanced.copy()
        twin._noisy = self._noisy
        twin._restarted = deepcopy(self._restarted)
        if not self._restarted:
            copies = [
                queue.call(deepcopy, run)
                for queue, run in zip(self._queues, self._runs, strict=True)
            ]
            twin._runs = [copy.result() for copy in copies]
        return twin

    def send(self, noisy: np.ndarray) -> None:
        """See Channel."""
        calls = []
        for queue, run in zip(self._queues, self._runs, strict=True):
            calls.append(queue.call(run.process, noisy))
        self._sent.append((noisy, calls))
        self._length += len(noisy)

    def send_end(self) -> None:
        """See Channel."""
        self.send(silence_at_end(self._engine, self._length))

    def receive(self) -> np.ndarray:
        """See Channel."""
        noisy, calls = self._sent.popleft()
        if self._restarted:
            return _stepped(self._restarted, noisy)
        self._noisy = np.concatenate([self._noisy, noisy])
        for number, call in enumerate(calls):
            self._enhanced[number] = np.concatenate([self._enhanced[number], call.result()])
        ready = min(map(len, self._enhanced))
        ready -= ready % self._engine.hop_length
        mean = self._enhanced[0][:ready]
        if len(self._runs) > 1:
            mean = (mean + self._enhanced[1][:ready]) * np.float32(0.5)
        finite = np.isfinite(mean)
        if not finite.all():
            return self._restart(mean, int(finite.argmin()))
        self._enhanced = [enhanced[ready:] for enhanced in self._enhanced]
        self._noisy = self._noisy[ready:]
        return mean

    def _restart(self, mean: np.ndarray, broken: int) -> np.ndarray:
        """Go on as a stream does whose output is not finite at sample `broken` of `mean`: that hop
        is silent, then the model begins again. Return what is enhanced by now."""
        hop = self._engine.hop_length
        begin = broken - broken % hop
        self.close()
        self._restarted = HopStream(self._engine)
        rest = _stepped(self._restarted, self._noisy[begin + hop :])
        return np.concatenate([mean[:begin], np.zeros(hop, np.float32), rest])

    def close(self) -> None:
        """See Channel."""
        for queue in self._queues:
            queue.close()


class ModelChannel:
    """A channel on its way through another model: its `open_channel` returns an object with
    `latency`, `process` and `finish`."""

    def __init__(self, model: OfflineModel, pool: Executor | None):
        self._channel = model.open_channel()
        self._queue = SerialQueue(pool)
        self._sent: deque[Future] = deque()
        self.latency = self._channel.latency

    def send(self, noisy: np.ndarray) -> None:
        """See Channel."""
        self._sent.append(self._queue.call(self._channel.process, noisy))

    def send_end(self) -> None:
        """See Channel."""
        self._sent.append(self._queue.call(self._channel.finish))

    def receive(self) -> np.ndarray:
        """See Channel."""
        return self._sent.popleft().result()

    def close(self) -> None:
        """See Channel."""
        self._queue.close()


def silence_at_end(engine: Engine, samples: int) -> np.ndarray:
    """Return the silence after `samples` with which the engine puts them all out: its latency, and
    the rest of a hop."""
    lag = engine.latency
    return np.zeros(lag + -(samples + lag) % engine.graph_hop_length, np.float32)


def _stepped(stream: HopStream, noisy: np.ndarray) -> np.ndarray:
    enhanced = [hop.copy() for hop, _ in stream.hops(noisy)]
    return np.concatenate([noisy[:0], *enhanced])
