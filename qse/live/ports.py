"""Microphone and loudspeaker: a PortAudio stream each, its callback, and the ring and converter behind it.

The callbacks only copy between PortAudio's memory and a ring; everything else happens on the other side of that ring.
The microphone's first two channels become one, their mean; the loudspeaker plays one in its first two.
An open port is `lost` when PortAudio has ended its stream or has not called for PATIENCE seconds.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from time import monotonic
from types import ModuleType
from typing import Any

import numpy as np

from .clock_drift import ClockDrift, Converter
from .devices import Device, NoSound, block_of, devices, find
from .jitter_buffer import WIDEST, JitterBuffer
from .ring_buffer import RingBuffer, WakeSignal

PATIENCE = 5.0
BEARABLE = 3  # complaints of a starved sound card, after which it gets a thicker buffer
FAR = 1.0  # seconds beyond which what a driver tells of its latency is nonsense


class Port(ABC):
    """What both have in common: finding the device, opening it, noticing that it is gone."""

    kind = ""

    def __init__(self, sound: ModuleType, wanted: str | None, block: int | Fraction | None, cushion: float):
        """`wanted` as in `find`; `block` as in `block_of`; `cushion` in seconds."""
        self._sound, self._wanted, self._cushion = sound, wanted, cushion
        self._stream: Any = None
        self.device: Device = find(sound, kind=self.kind, wanted=wanted)
        self.sample_rate = self.device.sample_rate
        self.blocksize = block_of(block, self.sample_rate)
        self._channels = min(2, self.device.channels(self.kind))
        self._opened, self._called, self._ended = False, 0.0, False
        self._away: float | None = None

    def open(self) -> None:
        """Start the device. Raises NoSound if it is not there, or does not start."""
        device = self._again() if self._opened else self.device
        self._opened = True
        self._called, self._ended = monotonic(), False
        opener = {"input": self._sound.InputStream, "output": self._sound.OutputStream}[self.kind]
        try:
            self._stream = opener(
                samplerate=self.sample_rate,
                blocksize=self.blocksize,
                device=device.id,
                channels=self._channels,
                dtype="float32",
                latency=self._cushion,
                callback=self._call,
                finished_callback=self._end,
            )
            self._stream.start()
        except self._sound.PortAudioError as error:
            self.close()
            raise NoSound(f"{device} does not start ({error}): is another program holding it?") from error
        self.device = device

    def _again(self) -> Device:
        """The device after a new list was made, in which its id may be another: by its name, or the default one."""
        if self._wanted is None:
            device = find(self._sound, self.kind)
        else:
            known = (self.device.name, self.device.host)
            found = [d for d in devices(self._sound) if (d.name, d.host) == known and d.channels(self.kind)]
            if not found:
                raise NoSound(f"{self.device} is not there")
            device = next((d for d in found if d.id == self.device.id), found[0])
        if device.sample_rate != self.sample_rate:
            raise NoSound(f"{device} came back at {device.sample_rate} Hz, it was {self.sample_rate} Hz: start again")
        if (now := device.channels(self.kind)) < self._channels:
            raise NoSound(f"{device} came back with {now} channels, it had {self._channels}: start again")
        return device

    def close(self) -> None:
        """Stop the device, whatever state it is in."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.abort(ignore_errors=True)
            stream.close(ignore_errors=True)

    @property
    def lost(self) -> bool:
        """Whether the device, once opened, no longer runs."""
        return self._stream is None or self._ended or monotonic() - self._called > PATIENCE

    @property
    def latency(self) -> float:
        """Seconds between the device and the callback: as the callbacks tell, or else as the stream promises."""
        stream = self._stream  # another thread may close it meanwhile
        promised = stream.latency if stream is not None else 0.0
        return promised if self._away is None else max(0.0, self._away)

    def _note(self, device: float, away: float) -> None:
        """Hear from a callback that it is `away` seconds from the device, which was or will be at its block's first
        sample at the time `device`: 0 if the driver does not know."""
        self._called = monotonic()
        if device > 0 and abs(away) < FAR:
            self._away = away if self._away is None else self._away + (away - self._away) / 100

    @abstractmethod
    def _call(self, samples: np.ndarray, count: int, time: Any, flags: Any) -> None:
        """PortAudio's callback: `count` samples to take from, or to put into, `samples` (count, channels)."""

    def _end(self) -> None:
        self._ended = True


class Microphone(Port):
    """Where live sound comes from."""

    kind, channels, complaint = "input", 1, "input lost"

    def __init__(self, sound: ModuleType, wanted: str | None, block: int | Fraction | None, cushion: float):
        super().__init__(sound, wanted, block, cushion)
        room = max(self.sample_rate, 2 * self.blocksize)
        self._ring, self._bell, self._stopped = RingBuffer(room, self._channels), WakeSignal(), False
        self._converter: Converter | None = None
        self.samples = self.dropouts = self.bad = 0

    def start(self, sample_rate: int) -> None:
        """Open the device; blocks will be converted to `sample_rate`."""
        if sample_rate != self.sample_rate:
            self._converter = Converter(self.sample_rate, sample_rate)
        self.open()

    def blocks(self) -> Iterator[np.ndarray]:
        """Blocks (samples, channels) as the device delivers them, until `stop`; an array that is used again."""
        block = np.zeros((self.blocksize, self._channels), np.float32)
        while not self._stopped:
            self._bell.wait(0.1)
            while self._ring.waiting and not self._stopped:
                got = self._ring.read(block)
                self.samples += got
                yield block[:got]

    def convert(self, block: np.ndarray) -> np.ndarray:
        """A block of the device's -> (samples, 1) at the rate given to `start`; what is not finite counts as 0."""
        mono = block.mean(axis=1)
        if not np.isfinite(mono).all():
            self.bad += 1
            mono[~np.isfinite(mono)] = 0
        return (self._converter.process(mono) if self._converter else mono)[:, None]

    def rest(self) -> np.ndarray:
        """What is still inside the converter: nothing that anybody waits for."""
        return np.zeros((0, 1), np.float32)

    def stop(self) -> None:
        """Let `blocks` end."""
        self._stopped = True
        self._bell.ring()

    @property
    def waits(self) -> float:
        """Seconds that a sample spends between callback and model."""
        return self.blocksize / self.sample_rate + (self._converter.delay if self._converter else 0.0)

    def _call(self, samples: np.ndarray, count: int, time: Any, flags: Any) -> None:
        self._note(time.inputBufferAdcTime, time.currentTime - time.inputBufferAdcTime - count / self.sample_rate)
        whole = self._ring.write(samples) == count
        self.dropouts += (bool(flags.input_overflow) or not whole) and not self._stopped
        self._bell.ring()


class Loudspeaker(Port):
    """Where live sound goes to: headphones, or a virtual device that another program listens to."""

    kind = "output"

    def __init__(self, sound: ModuleType, wanted: str | None, block: int | Fraction | None, cushion: float):
        super().__init__(sound, wanted, block, cushion)
        self.player = JitterBuffer(self.sample_rate, cushion, self.blocksize)
        self._out, self._drift = np.zeros((self.blocksize, 1), np.float32), ClockDrift()
        self.starved, self._starving, self._bearable = 0, False, BEARABLE
        self._converter: Converter

    def start(self, sample_rate: int, burst: float) -> None:
        """Open the device for samples at `sample_rate`, which come in bursts of up to `burst` seconds."""
        self.player = JitterBuffer(self.sample_rate, self._cushion + burst, self.blocksize)
        self._converter = Converter(sample_rate, self.sample_rate)
        self.open()

    def open(self) -> None:
        """Start the device, with nothing to play yet."""
        self.player.empty()
        super().open()

    def write(self, enhanced: np.ndarray, seconds: float) -> None:
        """Play (samples, channels), which last `seconds`, as soon as it is their turn."""
        if self.player.playing:
            self._converter.stretch = self._drift.update(self.player.excess / self.sample_rate, seconds)
        samples = self._converter.process(enhanced.mean(axis=1))
        self.player.ring.write(np.clip(samples, -1, 1)[:, None])

    def relieve(self) -> None:
        """If the device has starved a few times, open it anew with twice the buffer. Raises NoSound if that fails."""
        if self.starved >= self._bearable and self._cushion < WIDEST:
            self._bearable = self.starved + BEARABLE
            self._cushion = min(WIDEST, 2 * self._cushion)
            self.close()
            self.open()

    def finish(self) -> None:
        """No more is coming: play what is there to its end."""
        self.player.closing = True

    @property
    def done(self) -> bool:
        """Whether all has been played after `finish`."""
        return self.lost or not (self.player.playing or self.player.ring.waiting)

    @property
    def dropouts(self) -> int:
        """How often the sound was interrupted: blocks too late, too many, or not fetched in time."""
        return self.player.late + self.player.skipped + self.starved

    @property
    def drift(self) -> float:
        """How much faster this device's clock runs than the other, as a fraction, as far as it is known yet."""
        return self._drift.learned

    @property
    def waits(self) -> float:
        """Seconds that a sample spends between model and callback, on average."""
        held = (self.player.cushion + self.player.excess + self.blocksize / 2) / self.sample_rate
        return held + (self._converter.delay if self._opened else 0.0)

    def _call(self, samples: np.ndarray, count: int, time: Any, flags: Any) -> None:
        self._note(time.outputBufferDacTime, time.outputBufferDacTime - time.currentTime)
        before, self._starving = self._starving, bool(flags.output_underflow)
        self.starved += self._starving and not before and self.player.playing
        self.player.pull(self._out[:count])
        samples[:] = self._out[:count]
