"""The loudspeaker: the model's sample rate -> the device's rate and clock -> jitter buffer -> the
stream's callback."""

from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import Any

import numpy as np

from ..audio.converter import Converter
from .clock_drift import ClockDrift
from .jitter_buffer import JitterBuffer
from .ports import Port
from .protocols import SoundSystem

TOLERATED = 3  # underruns of the sound card after which it gets a larger buffer
LARGEST = 0.15  # seconds up to which the buffer of the sound card grows by itself
RECOVERED = 20.0  # seconds without one after which it gets back the buffer of the beginning
MOST_PATIENT = 640.0  # seconds of that at most: it doubles where the smaller buffer starves again


@dataclass(frozen=True)
class _Queue:
    """The buffer before the open device, and the conversion to its rate and clock."""

    buffer: JitterBuffer
    converter: Converter
    drift: ClockDrift
    out: np.ndarray


class Loudspeaker(Port):
    """An AudioOutput on a device: headphones, or a virtual device. It plays one channel on the
    first two.

    `starved`: how often the sound card reported an underrun of its own.
    """

    kind = "output"

    def __init__(
        self, sound: SoundSystem, wanted: str | None, block: int | Fraction | None, buffer: float
    ):
        """See Port; `buffer` is also the least target of the jitter buffer."""
        super().__init__(sound, wanted, block, buffer)
        self._model_rate = self.sample_rate
        self._queue = self._made_queue(buffer)
        self.starved = 0
        self._starving = False
        self._tolerated = TOLERATED
        self._first_buffer = buffer  # of the sound card
        self._starved_at = 0.0
        self._recovery = RECOVERED
        self._returned = False  # to the buffer of the beginning, since it was enlarged

    def start(self, sample_rate: int, burst: float) -> None:
        """Open the device for samples at `sample_rate`, which come in bursts of up to `burst`
        seconds."""
        self._model_rate = sample_rate
        self._queue = self._made_queue(self._buffer + burst)
        self.open()

    @property
    def buffer(self) -> JitterBuffer:
        """The jitter buffer, at the rate of the device."""
        return self._queue.buffer

    def _made_queue(self, target: float) -> "_Queue":
        buffer = JitterBuffer(self.rate, target, self.block)
        out = np.zeros((self.block, 1), np.float32)
        return _Queue(buffer, Converter(self._model_rate, self.rate), ClockDrift(), out)

    def _changed(self) -> None:
        former = self.buffer
        queue = self._made_queue(former.least / former.sample_rate)
        queue.buffer.underruns = former.underruns
        queue.buffer.skips = former.skips
        queue.buffer.draining = former.draining
        self._queue = queue

    def open(self) -> None:
        """Start the device, with nothing to play yet."""
        self.buffer.clear()
        super().open()

    def write(self, enhanced: np.ndarray, seconds: float) -> None:
        """Play (samples, channels), which last `seconds`, after what was written before."""
        queue = self._queue  # the device may be opened at another rate meanwhile
        buffer = queue.buffer
        if buffer.playing:
            stretch = queue.drift.update(buffer.excess / buffer.sample_rate, seconds)
            queue.converter.stretch = stretch - buffer.slide
        samples = queue.converter.process(enhanced.mean(axis=1))
        buffer.ring.write(np.clip(samples, -1, 1)[:, None])

    def relieve(self) -> None:
        """Open a device that has starved a few times again with twice the buffer, and one that has
        not for a while with the former buffer, in a pause. Raises NoSound if that fails."""
        enlarged = self._buffer > self._first_buffer
        calm = monotonic() - self._starved_at > self._recovery
        self.buffer.attentive = enlarged and calm
        if self.starved >= self._tolerated and self._buffer < LARGEST:
            self._recovery = min(MOST_PATIENT, 2 * self._recovery) if self._returned else RECOVERED
            self._returned = False
            self._reopen(min(LARGEST, 2 * self._buffer))
        elif enlarged and calm and self.buffer.pause.is_long:
            self._returned = True
            self._reopen(self._first_buffer)

    def _reopen(self, buffer: float) -> None:
        """Open the device again with a buffer of so many seconds."""
        self._tolerated = self.starved + TOLERATED
        self._buffer = buffer
        self.close()
        self.open()

    def finish(self) -> None:
        """Play what is there to its end; no more is coming."""
        self.buffer.draining = True

    @property
    def done(self) -> bool:
        """True when everything was played after `finish`."""
        return self.lost or not (self.buffer.playing or self.buffer.ring.waiting)

    @property
    def underruns(self) -> int:
        """Count of times that the jitter buffer was empty."""
        return self.buffer.underruns

    @property
    def skips(self) -> int:
        """Count of times that samples were skipped because too many waited."""
        return self.buffer.skips

    @property
    def is_too_small(self) -> bool:
        """Return whether dropouts go on although no buffer grows by itself any more."""
        starves = monotonic() - self._starved_at < RECOVERED and self.starved >= self._tolerated
        return (starves and self._buffer >= LARGEST) or self.buffer.is_too_small

    @property
    def drift(self) -> float:
        """Clock drift: by which fraction this device's clock runs faster than the source's, as far
        as known."""
        return self._queue.drift.learned

    @property
    def buffered(self) -> float:
        """Seconds that a sample waits between model and callback, on average."""
        queue = self._queue
        buffer = queue.buffer
        held = (buffer.target + buffer.excess + len(queue.out) / 2) / buffer.sample_rate
        return held + (queue.converter.delay if self._opened else 0.0)

    def _call(self, samples: np.ndarray, count: int, time: Any, flags: Any) -> None:
        self._note(time.outputBufferDacTime, time.outputBufferDacTime - time.currentTime)
        before = self._starving
        self._starving = bool(flags.output_underflow)
        if self._starving and not before and self.buffer.playing:
            self.starved += 1
            self._starved_at = monotonic()
        queue = self._queue
        queue.buffer.read(queue.out[:count])
        samples[:] = queue.out[:count]
