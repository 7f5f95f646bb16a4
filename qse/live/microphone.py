"""The microphone: the stream's callback -> ring buffer -> blocks -> the model's sample rate."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..audio.converter import Converter
from ..audio.formats import Layout
from .ports import Port
from .protocols import SoundSystem
from .ring_buffer import RingBuffer, WakeSignal


class Microphone(Port):
    """An AudioSource on an input device; its channels, the first two at most, are averaged to one."""

    kind, channels, complaint, is_live = "input", 1, "input overrun", True

    def __init__(self, sound: SoundSystem, wanted: str | None, block: int | Fraction | None, buffer: float):
        """See Port."""
        super().__init__(sound, wanted, block, buffer)
        capacity = max(self.sample_rate, 2 * self.blocksize)
        self._ring, self._ready, self._stopped = RingBuffer(capacity, self._channels), WakeSignal(), False
        self._converter: Converter | None = None
        self.samples = self.dropouts = self.bad = 0

    @property
    def devices(self) -> tuple[Port, ...]:
        """The devices that may vanish: this one."""
        return (self,)

    def layout_for(self, target: Path) -> Layout:
        """Return the layout of a file `target` for the enhanced sound: mono, at the device's rate."""
        return Layout(self.sample_rate, 1, "WAV", "PCM_16", "FILE", {}).to(target)

    def start(self, sample_rate: int) -> None:
        """Open the device; blocks will be converted to `sample_rate`."""
        if sample_rate != self.sample_rate:
            self._converter = Converter(self.sample_rate, sample_rate)
        self.open()

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks (samples, channels) as the device delivers them, until `stop`; the array is used again."""
        block = np.zeros((self.blocksize, self._channels), np.float32)
        while not self._stopped:
            self._ready.wait(0.1)
            while self._ring.waiting and not self._stopped:
                got = self._ring.read(block)
                self.samples += got
                yield block[:got]

    def convert(self, block: np.ndarray) -> np.ndarray:
        """Return a block as (samples, 1) at the rate given to `start`; samples that are not finite count as 0."""
        mono = block.mean(axis=1)
        if not np.isfinite(mono).all():
            self.bad += 1
            mono[~np.isfinite(mono)] = 0
        return (self._converter.process(mono) if self._converter else mono)[:, None]

    def rest(self) -> np.ndarray:
        """Return no samples: the 2 ms that are inside the converter are dropped."""
        return np.zeros((0, 1), np.float32)

    def stop(self) -> None:
        """Let `blocks` end."""
        self._stopped = True
        self._ready.set()

    @property
    def buffered(self) -> float:
        """Seconds that a sample waits between callback and model."""
        return self.blocksize / self.sample_rate + (self._converter.delay if self._converter else 0.0)

    def _call(self, samples: np.ndarray, count: int, time: Any, flags: Any) -> None:
        self._note(time.inputBufferAdcTime, time.currentTime - time.inputBufferAdcTime - count / self.sample_rate)
        complete = self._ring.write(samples) == count
        self.dropouts += (bool(flags.input_overflow) or not complete) and not self._stopped
        self._ready.set()
