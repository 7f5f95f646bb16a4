"""Take the blocks of a recording through a model: sample rate, channels, latency."""

from collections.abc import Iterator
from concurrent.futures import Executor

import numpy as np

from ..audio.resample import Resampler, rounding_reserve
from .channel import Channel, EngineChannel, ModelChannel
from .engine import Engine
from .split_channel import SplitChannel
from .zoo import Model


class SignalPath:
    """Resample to the model's sample rate, enhance each channel, resample back, cut off the
    latency. Blocks are sent, and received in the same order.

    Channels that have been equal from the beginning on are enhanced once."""

    def __init__(
        self,
        model: Model,
        sample_rate: float,
        channels: int,
        pool: Executor | None,
        split: float | None,
    ):
        """`pool`: threads for the model; without it, `send` returns when a block is enhanced.
        `split`: seconds of the pieces of a channel."""
        self._inward = Resampler(sample_rate, model.sample_rate, channels)
        self._outward = Resampler(model.sample_rate, sample_rate, channels)
        self._channels = _open_channels(model, channels, pool, split)
        self._uncut = self._channels[0].latency  # samples still to be cut off
        self._reserve = rounding_reserve(model.sample_rate, sample_rate)
        self._length = 0  # sent at the model's rate, and not received yet
        self.sent = 0  # blocks that were not received yet

    def send(self, block: np.ndarray) -> None:
        """Send (samples, channels)."""
        self._send(self._inward.process(block))

    def receive(self) -> np.ndarray:
        """Wait for the oldest block that was sent; return the enhanced samples that are ready,
        (0 or more, channels)."""
        self.sent -= 1
        received = {channel: channel.receive() for channel in self._distinct()}
        enhanced = np.stack([received[channel] for channel in self._channels], axis=1)
        cut = min(self._uncut, len(enhanced))
        self._uncut -= cut
        enhanced = enhanced[cut : cut + self._length]  # the last hop is longer than the signal
        self._length -= len(enhanced)
        return self._outward.process(enhanced)

    def send_end(self) -> None:
        """Flush with zeros."""
        silence = np.zeros((self._reserve, len(self._channels)), np.float32)
        self._send(np.concatenate([self._inward.finish(), silence]))
        for channel in self._distinct():
            channel.send_end()
        self.sent += 1

    def rest(self) -> Iterator[np.ndarray]:
        """Receive all blocks after `send_end`, the last ones and what is inside after them as
        one."""
        while self.sent > 2:  # the two of `send_end`
            yield self.receive()
        last = [self.receive() for _ in range(self.sent)]
        yield np.concatenate([*last, self._outward.finish()])

    def close(self) -> None:
        """Give up the blocks that were not received; return when the model runs no more."""
        for channel in self._distinct():
            channel.close()

    def _send(self, noisy: np.ndarray) -> None:
        for channel in self._distinct():
            self._part(channel, noisy)
        for channel, samples in dict(zip(self._channels, noisy.T, strict=True)).items():
            channel.send(samples)
        self._length += len(noisy)
        self.sent += 1

    def _distinct(self) -> list[Channel]:
        return list(dict.fromkeys(self._channels))

    def _part(self, channel: Channel, noisy: np.ndarray) -> None:
        """Give the places of `channel` whose samples differ from now on channels of their own."""
        left = [place for place, used in enumerate(self._channels) if used is channel]
        while True:
            samples = noisy[:, left[0]]
            left = [place for place in left if not np.array_equal(noisy[:, place], samples)]
            if not left:
                return
            assert isinstance(channel, EngineChannel)
            twin = channel.twin()
            for place in left:
                self._channels[place] = twin
            channel = twin


def _open_channels(
    model: Model, count: int, pool: Executor | None, split: float | None
) -> list[Channel]:
    """Return the channels of a recording; those of a streaming model are one as long as they are
    equal."""
    if not isinstance(model, Engine):
        return [ModelChannel(model, pool) for _ in range(count)]
    if split:
        return [SplitChannel(model, pool, split) for _ in range(count)]
    return [EngineChannel(model, pool)] * count
