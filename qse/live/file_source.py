"""Files in place of devices: the microphone's and the loudspeaker's side of the live path without sound hardware.

A file keeps its channels and is converted by soxr, as `qse denoise` does it, so that what is written is the same,
sample for sample, without a strength. Paced by the wall clock it delivers a block when a microphone would have.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from threading import Event
from time import monotonic

import numpy as np

from ..audio.formats import Layout
from ..audio.reader import Source
from ..audio.resample import Resampler
from .devices import block_of
from .ports import Microphone


class FileSource:
    """An audio file that stands in for a microphone. `dropouts` counts blocks that came back too late."""

    complaint = "behind the clock"

    def __init__(self, path: Path, block: int | Fraction | None = None, paced: bool = True, cushion: float = 0.01):
        """`block` as in `block_of`. A block is late if it is not done `cushion` seconds after the next one is there.
        Raises QseError if the file cannot be used."""
        with Source(path) as source:
            self.layout: Layout = source.layout
        self.path, self.sample_rate, self.channels = path, self.layout.sample_rate, self.layout.channels
        self.blocksize = block_of(block, self.sample_rate)
        self.samples = self.dropouts = self.bad = 0
        self.latency = 0.0
        self._paced, self._cushion, self._stopped = paced, cushion, Event()

    @property
    def waits(self) -> float:
        """Seconds that a sample spends before it reaches the model."""
        return self.blocksize / self.sample_rate

    def start(self, sample_rate: int) -> None:
        """Blocks will be converted to `sample_rate`."""
        self._inward = Resampler(self.sample_rate, sample_rate, self.channels)

    def blocks(self) -> Iterator[np.ndarray]:
        """Blocks (samples, channels) of the file, each when it is due, until its end or `stop`."""
        with Source(self.path) as source:
            begin = monotonic()
            for block in _cut(source.blocks(), self.blocksize):
                self.samples += len(block)
                if self._paced:
                    begin += self._await(begin + self.samples / self.sample_rate)
                if self._stopped.is_set():
                    self.samples -= len(block)
                    return
                yield block

    def convert(self, block: np.ndarray) -> np.ndarray:
        """A block of the file -> (samples, channels) at the rate given to `start`."""
        return self._inward.process(block)

    def rest(self) -> np.ndarray:
        """The last samples that `convert` has kept back."""
        return self._inward.finish()

    def stop(self) -> None:
        """Let `blocks` end."""
        self._stopped.set()

    def _await(self, due: float) -> float:
        """Sleep until `due`; if that is long gone, count a dropout and return by how much."""
        behind = monotonic() - due
        if behind < 0:
            self._stopped.wait(-behind)
        if behind <= self._cushion:
            return 0.0
        self.dropouts += 1
        return behind


def _cut(blocks: Iterable[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The same samples in blocks of `size`, the last one shorter."""
    rest = None
    for block in blocks:
        rest = block if rest is None or not len(rest) else np.concatenate([rest, block])
        whole = len(rest) // size * size
        for start in range(0, whole, size):
            yield rest[start : start + size]
        rest = rest[whole:]
    if rest is not None and len(rest):
        yield rest


def in_step(
    enhanced: Iterable[np.ndarray], late: int, sample_rate: int, source: FileSource | Microphone, channels: int
) -> Iterator[np.ndarray]:
    """Enhanced blocks (samples, channels) at `sample_rate` -> blocks at the source's rate, without the first `late`
    samples of the input, and in all as long as what the source has delivered (its `samples`)."""
    outward, written = Resampler(sample_rate, source.sample_rate, channels), 0
    for block in enhanced:
        cut = min(late, len(block))
        late -= cut
        block = outward.process(block[cut:])[: source.samples - written]
        written += len(block)
        yield block
    yield outward.finish()[: source.samples - written]
