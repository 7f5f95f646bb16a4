"""The microphone: the stream's callback -> ring buffer -> blocks -> one channel -> the model's
sample rate."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..audio.converter import Converter
from ..audio.copied import Copied
from ..audio.formats import Layout
from .devices import Unusable
from .downmix import Downmix
from .ports import Port
from .protocols import Device, SoundSystem
from .ring_buffer import RingBuffer, WakeSignal


@dataclass
class _Capture:
    """The rate, buffers and conversion of the open device.

    `before`: samples of the microphone until then, at the rate of the session; `samples`: since
    then, at `rate`.
    """

    rate: int
    ring: RingBuffer
    block: np.ndarray
    downmix: Downmix
    converter: Converter | None
    before: int = 0
    samples: int = 0


class Microphone(Port):
    """A LiveInput on an input device; of its channels the first two are mixed to one, or one is
    taken."""

    kind = "input"
    channels = 1
    complaint = "input overrun"
    is_live = True
    origin = None
    damage = None

    def __init__(
        self,
        sound: SoundSystem,
        wanted: str | None,
        block: int | Fraction | None,
        buffer: float,
        channel: int | None = None,
    ):
        """See Port; `channel`: the only one that is heard, counted from 1. Raises Unusable if there
        is none."""
        self._channel = channel
        super().__init__(sound, wanted, block, buffer)
        self._ready = WakeSignal()
        self._stopped = False
        self._model_rate = self.sample_rate
        self._capture = self._made_capture()  # of the stream
        # of the worker, which changes to that of the stream between two blocks
        self._current = self._capture
        self.samples = 0
        self.dropouts = 0
        self.bad = 0

    @property
    def devices(self) -> tuple[Port, ...]:
        """The devices that may vanish: this one."""
        return (self,)

    def layout_for(self, target: Path, channels: int) -> Layout:
        """Return the layout of a file `target` for enhanced sound of so many channels, at the
        device's rate."""
        return Layout(self.sample_rate, channels, "WAV", "PCM_16", "FILE", {}).to(target)

    def carry_into(self, part: Path, layout: Layout, samples: int) -> Copied:
        """Return that nothing is lost: sound of a device has no metadata."""
        return Copied()

    def start(self, sample_rate: int) -> None:
        """Open the device; blocks will be converted to `sample_rate`."""
        self._model_rate = sample_rate
        self._changed()
        self.open()

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks (samples, channels) as the device delivers them, until `stop`; the array is
        used again."""
        while not self._stopped:
            self._ready.wait(0.1)
            capture = self._capture
            if capture is not self._current:
                capture.before = self.samples
                self._current = capture
            while capture.ring.waiting and not self._stopped:
                got = capture.ring.read(capture.block)
                capture.samples += got
                self.samples = capture.before + capture.samples * self.sample_rate // capture.rate
                yield capture.block[:got]

    def convert(self, block: np.ndarray) -> np.ndarray:
        """Return a block as (samples, 1) at the rate given to `start`; samples that are not finite
        count as 0."""
        if not np.isfinite(block).all():
            self.bad += 1
            block = np.where(np.isfinite(block), block, np.float32(0))
        mono = self._current.downmix.process(block)
        converter = self._current.converter
        return (converter.process(mono) if converter else mono)[:, None]

    def _changed(self) -> None:
        self._capture = self._made_capture()

    def _made_capture(self) -> "_Capture":
        converter = (
            None if self.rate == self._model_rate else Converter(self.rate, self._model_rate)
        )
        ring = RingBuffer(max(self.rate, 2 * self.block), self._channels)
        block = np.zeros((self.block, self._channels), np.float32)
        return _Capture(self.rate, ring, block, Downmix(self.rate, self._channel), converter)

    @property
    def channels_heard(self) -> str:
        """Which channels are heard, where those are not all that the device has; else empty."""
        if self._current.downmix.reason:
            return self._current.downmix.reason
        has = self.device.inputs
        return (
            f"the first {self._channels} of {has}; channel=N takes another"
            if has > self._channels
            else ""
        )

    def _channels_of(self, device: Device) -> int:
        if self._channel is None:
            return super()._channels_of(device)
        if self._channel > device.inputs:
            has = f"1 to {device.inputs}" if device.inputs > 1 else "only one"
            raise Unusable(f"{device} has no channel {self._channel}, it has {has}")
        return device.inputs

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
        converter = self._current.converter
        return self.blocksize / self.sample_rate + (converter.delay if converter else 0.0)

    def _call(self, samples: np.ndarray, count: int, time: Any, flags: Any) -> None:
        self._note(
            time.inputBufferAdcTime, time.currentTime - time.inputBufferAdcTime - count / self.rate
        )
        complete = self._capture.ring.write(samples) == count
        self.dropouts += (bool(flags.input_overflow) or not complete) and not self._stopped
        self._ready.set()
