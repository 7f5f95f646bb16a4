"""The common base of microphone and loudspeaker: a stream whose callback only copies samples.

A device may come back with another sample rate or number of channels, and another device may become
the default one. The port opens it as it is; `sample_rate` and `blocksize` stay those of the
beginning, for the session counts in them.

An open port is `lost` when the sound system has ended its stream or has not called back for
PATIENCE seconds.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from fractions import Fraction
from time import monotonic
from typing import Any

import numpy as np

from .devices import NoSound, Unusable, block_of, devices, find
from .protocols import Device, SoundSystem

PATIENCE = 5.0
FAR = 1.0  # seconds; a latency beyond it, as a driver reports it, is ignored


class Port(ABC):
    """Find a device, open it, and notice that it is gone.

    `sample_rate`, `blocksize`: of the device when the port was made. `rate`, `block`: of the device
    as it is open now.
    """

    kind = ""

    def __init__(
        self, sound: SoundSystem, wanted: str | None, block: int | Fraction | None, buffer: float
    ):
        """`wanted` as in `find`; `block` as in `block_of`; `buffer`: size to ask of the sound card,
        in seconds."""
        self._sound = sound
        self._wanted = wanted
        self._buffer = buffer
        self._stream: Any = None
        self.device: Device = find(sound, kind=self.kind, wanted=wanted)
        self.sample_rate = self.device.sample_rate
        self.blocksize = block_of(block, self.sample_rate)
        self.rate = self.sample_rate
        self.block = self.blocksize
        self._channels = self._channels_of(self.device)
        self._opened = False
        self._called = 0.0
        self._ended = False
        self._measured: float | None = None

    def open(self) -> None:
        """Start the device. Raises NoSound if it is not there or does not start, Unusable if it
        does not fit."""
        device = self._found_again() if self._opened else self.device
        self._adapt(device)
        self._opened = True
        self._called = monotonic()
        self._ended = False
        opener = {"input": self._sound.InputStream, "output": self._sound.OutputStream}[self.kind]
        try:
            self._stream = opener(
                samplerate=self.rate,
                blocksize=self.block,
                device=None
                if self._wanted is None
                else device.id,  # None may follow the default device
                channels=self._channels,
                dtype="float32",
                latency=self._buffer,
                callback=self._call,
                finished_callback=self._end,
            )
            self._stream.start()
        except self._sound.PortAudioError as error:
            self.close()
            raise NoSound(
                f"{device} does not start ({error}): is another program holding it?"
            ) from error
        self.device = device

    def _found_again(self) -> Device:
        """Return the device from a new list, in which its id may differ: by its name, or the
        default one.

        A headset has a name for each of its profiles; it is found by the text that named it at the
        start.
        """
        if self._wanted is None:
            return find(self._sound, self.kind)
        known = (self.device.name, self.device.host)
        found = [
            d for d in devices(self._sound) if (d.name, d.host) == known and d.channels(self.kind)
        ]
        if found:
            return next((d for d in found if d.id == self.device.id), found[0])
        if not self._wanted.isdecimal():
            with suppress(NoSound):
                return find(self._sound, self.kind, self._wanted)
        raise NoSound(f"{self.device} is not there")

    def _adapt(self, device: Device) -> None:
        """Take over the sample rate and the channels of a device that is about to be opened."""
        channels = self._channels_of(device)
        if (device.sample_rate, channels) == (self.rate, self._channels):
            return
        if device.sample_rate <= 0:
            raise Unusable(
                f"{device} reports a sample rate of {device.sample_rate} Hz: name another device"
            )
        self.rate = device.sample_rate
        self._channels = channels
        self.block = max(1, round(self.blocksize * self.rate / self.sample_rate))
        self._changed()

    def _changed(self) -> None:  # noqa: B027
        """Do what a change of `rate`, `block` or channels needs; the stream is closed."""

    def _channels_of(self, device: Device) -> int:
        """Return how many of the channels of a device are opened."""
        return min(2, device.channels(self.kind))

    def close(self) -> None:
        """Stop the device, whatever state it is in."""
        stream = self._stream
        self._stream = None
        if stream is not None:
            stream.abort(ignore_errors=True)
            stream.close(ignore_errors=True)

    def abandon(self) -> None:
        """Forget the stream without closing it, because its driver does not return from that."""
        self._stream = None

    def touch(self) -> None:
        """Count the device as running now, after a pause of this process."""
        self._called = monotonic()

    @property
    def name(self) -> str:
        """Id, name and host of the device; of one to which the sound server moved the stream, its
        name there."""
        moved = self._moved
        return moved if moved else str(self.device)

    @property
    def monitored(self) -> str:
        """The output whose sound is recorded in place of a microphone's; empty if there is none."""
        moved = self._moved
        if not moved:
            return self.device.monitored
        return moved.removesuffix(".monitor") if moved.endswith(".monitor") else ""

    @property
    def _moved(self) -> str:
        """The sound server's name of the device to which it moved the stream; empty if it did
        not."""
        connected = getattr(self._stream, "connected", None) or ""
        return "" if f"({connected})" in self.device.name else connected

    @property
    def lost(self) -> bool:
        """True if the device, once opened, no longer runs."""
        return self._stream is None or self._ended or monotonic() - self._called > PATIENCE

    @property
    def latency(self) -> float:
        """Seconds between the device and the callback: as measured in callbacks, else as the stream
        reports it."""
        stream = self._stream  # another thread may close it meanwhile
        reported = stream.latency if stream is not None else 0.0
        return reported if self._measured is None else max(0.0, self._measured)

    def _note(self, device: float, latency: float) -> None:
        """Note a callback whose first sample is at the device at the time `device`, `latency`
        seconds from now.

        `device` is 0 if the driver does not know.
        """
        self._called = monotonic()
        if device > 0 and abs(latency) < FAR:
            before = self._measured
            self._measured = latency if before is None else before + (latency - before) / 100

    @abstractmethod
    def _call(self, samples: np.ndarray, count: int, time: Any, flags: Any) -> None:
        """The stream's callback: `count` samples to take from, or to put into, `samples` (count,
        channels)."""

    def _end(self) -> None:
        self._ended = True
