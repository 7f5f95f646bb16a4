"""Enhance many live streams in one call of a model, as a server of telephone calls does.

    from qse.integrations.stream_group import StreamGroup
    group = StreamGroup("live-tiny")                  # one for each thread
    call = group.open(sample_rate=8000)               # one for each call
    enhanced = group.process({call: block, other: other_block})

The weights are then read, and small operators started, once for all streams that have a hop ready.
Streams may join and leave between any two calls of `process`; one that is not used again needs no
word.
"""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np

from ..audio.checks import HIGHEST_RATE, LOWEST_RATE
from ..runtime.array_check import float_array
from ..runtime.attenuation import mixed, noisy_share
from ..runtime.engine import State
from ..runtime.many_streams import load_many
from ..runtime.rate_conversion import NoConversion, RateConversion

__all__ = ["GroupStream", "StreamGroup"]

MOST = 32  # streams in one call of the graph


class _Row(NamedTuple):
    """Name the place of a stream's state: row `row` of the states of several, after call `call`."""

    call: int
    row: int
    states: State


class GroupStream:
    """One channel of one stream; made by `StreamGroup.open`.

    Attributes: `sample_rate` of the blocks in Hz; `latency` in samples at that rate, by which the
    output lags the input; `resets`, count of restarts because the model's output was not finite.
    """

    def __init__(self, group: "StreamGroup", sample_rate: float, strength: float | None, row: _Row):
        graph = group.graph
        late = graph.latency + graph.hop_length - 1
        conversion: RateConversion | NoConversion = NoConversion(late)
        if sample_rate != graph.sample_rate:
            conversion = RateConversion(sample_rate, graph.sample_rate, late)
        self.sample_rate = sample_rate
        self.latency = conversion.latency
        self.resets = 0
        self.strength = strength
        self._group = group
        self._conversion = conversion
        self._row = row
        self._waiting = np.zeros(0, np.float32)  # noisy, of hops that have not been enhanced
        self._ready = np.zeros(graph.hop_length - 1, np.float32)  # enhanced, not yet returned
        self._due = 0  # samples of `_ready` that the block of this call takes

    @property
    def strength(self) -> float | None:
        """Attenuation limit in dB (0: output = delayed input, None: no limit); may be changed
        between two blocks."""
        return self._strength

    @strength.setter
    def strength(self, strength: float | None) -> None:
        self._share = noisy_share(strength)
        self._strength = strength

    def _take(self, noisy: np.ndarray) -> None:
        """Take the next samples, finite float32 (samples,)."""
        inner = self._conversion.inward(noisy)
        self._waiting = np.concatenate([self._waiting, inner])
        self._due = len(inner)

    def _has_hop(self) -> bool:
        return len(self._waiting) >= self._group.graph.hop_length

    def _next_hop(self) -> np.ndarray:
        size = self._group.graph.hop_length
        hop = self._waiting[:size]
        self._waiting = self._waiting[size:]
        return hop

    def _put(self, enhanced: np.ndarray, row: _Row) -> None:
        """Take an enhanced hop, and the place of the state after it."""
        self._ready = np.concatenate([self._ready, enhanced])
        self._row = row

    def _give(self, noisy: np.ndarray) -> np.ndarray:
        """Return the output for `noisy`, the samples of the latest `_take`."""
        inner = self._ready[: self._due]
        self._ready = self._ready[self._due :]
        enhanced, delayed = self._conversion.outward(inner, noisy)
        return mixed(enhanced, delayed, self._share)


class StreamGroup:
    """Enhance streams together: the output of each is that of a `qse.Stream` of its own, within
    1e-6.

    The models for this have a graph of many streams, for 16 kHz: of the released ones live-tiny.
    Sound at other rates is converted, so it has a band of 8 kHz at most. Use a group in one thread
    at a time: overlapping calls are refused.
    """

    def __init__(self, model: str | Path = "live-tiny", most: int = MOST):
        """Load `model`, a name or folder. most: streams in one call of its graph.

        Raises QseError for a model that is unknown or damaged, or has no graph of many streams;
        ValueError for `most` below 1.
        """
        if most < 1:
            raise ValueError(f"most must be at least 1 stream, not {most}")
        self.graph = load_many(model)
        self._most = most
        self._calls = 0  # of the graph
        self._initial = _Row(0, 0, self.graph.initial_state())
        self._free = Lock()

    def open(self, sample_rate: float = 8000, strength: float | None = None) -> GroupStream:
        """Return a new stream for blocks at `sample_rate` in Hz.

        strength: attenuation limit in dB from 0 (output = delayed input) up; None: no limit. Raises
        ValueError for an argument out of range.
        """
        if not LOWEST_RATE <= sample_rate <= HIGHEST_RATE:
            limits = f"{LOWEST_RATE} to {HIGHEST_RATE} Hz"
            raise ValueError(f"sample_rate must be from {limits}, not {sample_rate}")
        return GroupStream(self, sample_rate, strength, self._initial)

    def process(self, blocks: Mapping[GroupStream, np.ndarray]) -> dict[GroupStream, np.ndarray]:
        """Enhance the next block of each stream, (samples,) floats in [-1, 1] of any length: return
        as many for each, float32.

        Samples that are not finite count as 0. Raises ValueError for another shape or a stream of
        another group, TypeError for samples that are not floats: nothing is enhanced then;
        RuntimeError while another thread is in a call of this group.
        """
        if not self._free.acquire(blocking=False):
            raise RuntimeError("the group is in use by another thread: give each its own group")
        try:
            return self._processed(
                {stream: self._checked(stream, blocks[stream]) for stream in blocks}
            )
        finally:
            self._free.release()

    def finish(self, stream: GroupStream) -> np.ndarray:
        """Flush a stream with zeros: return its last (latency,) samples.

        Later calls continue after that silence.
        """
        return self.process({stream: np.zeros(stream.latency, np.float32)})[stream]

    def _checked(self, stream: GroupStream, block: np.ndarray) -> np.ndarray:
        """Return a block as finite float32 (samples,)."""
        if stream._group is not self:
            raise ValueError("a stream of another group: give it to the group that opened it")
        noisy = float_array("block", block).astype(np.float32)
        if noisy.ndim != 1:
            cure = "open one stream per channel"
            raise ValueError(f"a block has the shape (samples,), not {noisy.shape}: {cure}")
        noisy[~np.isfinite(noisy)] = 0
        return noisy

    def _processed(self, blocks: dict[GroupStream, np.ndarray]) -> dict[GroupStream, np.ndarray]:
        for stream, noisy in blocks.items():
            stream._take(noisy)
        ready = list(filter(GroupStream._has_hop, blocks))
        while ready:
            # those that were enhanced together go on together
            ready.sort(key=lambda stream: stream._row[:2])
            for start in range(0, len(ready), self._most):
                self._step(ready[start : start + self._most])
            ready = list(filter(GroupStream._has_hop, ready))
        return {stream: stream._give(noisy) for stream, noisy in blocks.items()}

    def _step(self, streams: list[GroupStream]) -> None:
        """Enhance one hop of each of these streams."""
        hops = np.stack([stream._next_hop() for stream in streams])
        states = _gathered([stream._row for stream in streams])
        enhanced, after = self.graph.step(hops, states)
        self._calls += 1
        finite = np.isfinite(enhanced).all(axis=1)
        for number, stream in enumerate(streams):
            if finite[number]:
                stream._put(enhanced[number], _Row(self._calls, number, after))
            else:
                stream.resets += 1
                stream._put(np.zeros_like(enhanced[number]), self._initial)


def _gathered(rows: list[_Row]) -> State:
    """Return the states of several streams as one, without a copy where they are all the rows of
    one."""
    first = rows[0].states
    together = all(place.states is first for place in rows)
    streams = len(next(iter(first.values()), ()))
    if together and len(rows) == streams:  # their order is that of the rows
        return first
    states = {}
    for name in first:
        states[name] = np.stack([place.states[name][place.row] for place in rows])
    return states
