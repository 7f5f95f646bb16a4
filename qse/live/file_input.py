"""A file in place of the microphone, and the alignment of what is written to a file.

A file keeps its channels and is converted by soxr, as in `qse denoise`, so the output is the same,
sample for sample (without an attenuation limit). Paced by the clock, it delivers each block when a
microphone would have.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Event
from time import monotonic

import numpy as np

from ..audio.checks import check_unchanged
from ..audio.copied import Copied
from ..audio.formats import Layout
from ..audio.input_path import held_input
from ..audio.metadata import carry
from ..audio.reader import open_audio
from ..audio.resample import Resampler
from ..errors import QseError
from ..runtime.file_output import sound_layout
from .devices import block_of
from .protocols import DevicePort, LiveInput


class FileInput:
    """A LiveInput that reads a file. `dropouts`: blocks that took longer than the clock
    allows; `damage`: what is known of the file at its end, as of an AudioReader, or where it was
    stopped."""

    complaint = "behind the clock"
    is_live = False
    lost = False
    channels_heard = ""

    def __init__(
        self,
        path: Path,
        block: int | Fraction | None = None,
        paced: bool = True,
        buffer: float = 0.01,
    ):
        """`block` as in `block_of`. `paced`: deliver each block when a microphone would have; a
        block that is not done `buffer` seconds after the next one is due counts as a dropout.
        Raises QseError if the file cannot be used."""
        self.path = path
        with ExitStack() as stack:
            self.origin = stack.enter_context(held_input(path, self.name))
            with open_audio(self.origin, self.name) as source:
                self._first = source  # what it has found is asked for, its samples are not
            self._held = stack.pop_all()
        self.layout: Layout = source.layout
        self.sample_rate = self.layout.sample_rate
        self.channels = self.layout.channels
        self.blocksize = block_of(block, self.sample_rate)
        self.samples = 0
        self.dropouts = 0
        self.bad = 0
        self.damage: str | None = None
        self.latency = 0.0
        self._paced = paced
        self._buffer = buffer
        self._stopped = Event()

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def devices(self) -> Sequence[DevicePort]:
        """The devices that may vanish: none."""
        return ()

    def layout_for(self, target: Path, channels: int) -> Layout:
        """Return the layout of a file `target` for enhanced sound of so many channels: that of this
        file, as far as possible. Raises QseError if its format cannot hold that."""
        return replace(sound_layout(self._first, target), channels=channels)

    def carry_into(self, part: Path, layout: Layout, samples: int) -> Copied:
        """Give `part`, a file of enhanced sound with this layout and so many samples per channel,
        the metadata and channel positions of this one; return what is lost."""
        copied = carry(self._first, part, layout, samples)
        if self._first.media and self._first.media.pictures:
            copied.lost.append("picture")
        return copied

    @property
    def buffered(self) -> float:
        """Seconds that a sample waits before it reaches the model."""
        return self.blocksize / self.sample_rate

    def start(self, sample_rate: int) -> None:
        """Blocks will be converted to `sample_rate`."""
        self._inward = Resampler(self.sample_rate, sample_rate, self.channels)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks (samples, channels) of the file, each when it is due, until its end or
        `stop`. Raises QseError if the file is not as it was."""
        with open_audio(self.origin, self.name) as source:
            source.inspection.named = self.path
            check_unchanged(self._first.inspection, self.name)
            begin = monotonic()
            for block in _cut(source.blocks(), self.blocksize):
                self.samples += len(block)
                if self._paced:
                    begin += self._await(begin + self.samples / self.sample_rate)
                if self._stopped.is_set():
                    self.samples -= len(block)
                    seconds = self.samples / self.sample_rate
                    self.damage = (
                        f"{self.name} was read up to {seconds:.2f} s, where it was stopped"
                    )
                    return
                yield block
            others = source.media.others if source.media else None
            self.damage = "; ".join(filter(None, (source.damage, others))) or None
            try:
                check_unchanged(source.inspection, self.name)
            except QseError as error:
                self.damage = str(error)

    def convert(self, block: np.ndarray) -> np.ndarray:
        """Return a block as (samples, channels) at the rate given to `start`."""
        return self._inward.process(block)

    def rest(self) -> np.ndarray:
        """Return the last samples that `convert` kept back."""
        return self._inward.finish()

    def stop(self) -> None:
        """Let `blocks` end."""
        self._stopped.set()

    def close(self) -> None:
        """Let go of the file."""
        self._held.close()

    def _await(self, due: float) -> float:
        """Sleep until `due`; if that is long past, count a dropout and return by how many
        seconds."""
        behind = monotonic() - due
        if behind < 0:
            self._stopped.wait(-behind)
        if behind <= self._buffer:
            return 0.0
        self.dropouts += 1
        return behind


def _cut(blocks: Iterable[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """Yield the same samples in blocks of `size`, the last one shorter."""
    rest = None
    for block in blocks:
        rest = block if rest is None or not len(rest) else np.concatenate([rest, block])
        complete = len(rest) // size * size
        for start in range(0, complete, size):
            yield rest[start : start + size]
        rest = rest[complete:]
    if rest is not None and len(rest):
        yield rest


def aligned(
    enhanced: Iterable[np.ndarray],
    latency: int,
    sample_rate: int,
    source: LiveInput,
    channels: int,
) -> Iterator[np.ndarray]:
    """Yield enhanced blocks (samples, channels) at `sample_rate` converted to the source's rate and
    aligned with it.

    The first `latency` samples are cut off; the output is as long as what the source delivered (its
    `samples`).
    """
    outward = Resampler(sample_rate, source.sample_rate, channels)
    written = 0
    for block in enhanced:
        cut = min(latency, len(block))
        latency -= cut
        block = outward.process(block[cut:])[: source.samples - written]
        written += len(block)
        yield block
    yield outward.finish()[: source.samples - written]
