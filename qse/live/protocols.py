"""Interfaces of what a live session reads from and plays on, and of the module that opens
devices."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..audio.copied import Copied
from ..audio.formats import Layout


@dataclass(frozen=True)
class Device:
    """One entry of the list; `inputs` and `outputs` count channels, `default_for` holds kinds.

    `monitored`: the output whose sound an input records; empty for a microphone.
    """

    id: int
    name: str
    host: str
    sample_rate: int
    inputs: int
    outputs: int
    default_for: tuple[str, ...]
    monitored: str = ""

    def channels(self, kind: str) -> int:
        """Return the number of channels of a kind."""
        return self.inputs if kind == "input" else self.outputs

    def __str__(self) -> str:
        return f"{self.id} {self.name} ({self.host})"


class SoundSystem(Protocol):
    """The module `sounddevice`, or anything that offers the same functions."""

    @property
    def PortAudioError(self) -> type[Exception]: ...

    @property
    def InputStream(self) -> Any: ...

    @property
    def OutputStream(self) -> Any: ...

    @property
    def default(self) -> Any: ...

    @property
    def query_devices(self) -> Any: ...

    @property
    def query_hostapis(self) -> Any: ...

    @property
    def _initialize(self) -> Any: ...

    @property
    def _terminate(self) -> Any: ...


class DevicePort(Protocol):
    """An audio device that can be opened again after it vanished. `lost`: whether it, once opened,
    no longer runs."""

    @property
    def device(self) -> Device: ...

    @property
    def name(self) -> str: ...

    @property
    def monitored(self) -> str:
        """The output whose sound is recorded in place of a microphone's; empty if there is none."""

    @property
    def lost(self) -> bool: ...

    def open(self) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None:
        """Forget the stream without closing it, because its driver does not return from that."""

    def touch(self) -> None:
        """Count the device as running now, after a pause of this process."""


class LiveInput(Protocol):
    """A source of noisy sound: Microphone, FileInput.

    `samples`: delivered so far, per channel. `dropouts`: interruptions, which `complaint`
    describes. `bad`: blocks with samples that were not finite. `is_live`: the sound cannot be had a
    second time. `origin`: the file that is read, None if there is none.
    """

    sample_rate: int
    channels: int
    blocksize: int
    samples: int
    dropouts: int
    bad: int
    complaint: str
    is_live: bool

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> Path | None: ...

    @property
    def damage(self) -> str | None:
        """Return a sentence about the damage of that file, once its end is reached."""

    @property
    def devices(self) -> Sequence[DevicePort]: ...

    @property
    def lost(self) -> bool: ...

    @property
    def latency(self) -> float:
        """Seconds from the sound to the delivery of its first sample."""

    @property
    def buffered(self) -> float:
        """Seconds that a sample waits between delivery and model."""

    @property
    def channels_heard(self) -> str:
        """Which channels are heard, where those are not all; else empty."""

    def layout_for(self, target: Path, channels: int) -> Layout:
        """Return the layout of a file `target` for enhanced sound of so many channels. Raises
        QseError if its format cannot hold that."""

    def carry_into(self, part: Path, layout: Layout, samples: int) -> Copied:
        """Give `part`, a file of enhanced sound with this layout and so many samples per channel,
        the metadata of the file that is read; return what is lost."""

    def start(self, sample_rate: int) -> None:
        """Begin; `convert` will convert to `sample_rate`."""

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks (samples, channels) as they come, until the end or `stop`; the array may be
        used again."""

    def convert(self, block: np.ndarray) -> np.ndarray:
        """Return a block at the rate given to `start`, (samples, channels)."""

    def rest(self) -> np.ndarray:
        """Return the last samples that `convert` kept back."""

    def stop(self) -> None:
        """Let `blocks` end."""

    def close(self) -> None: ...


class AudioOutput(DevicePort, Protocol):
    """An output for enhanced sound: Loudspeaker. Its dropouts are `underruns`, `skips` and
    `starved`."""

    @property
    def underruns(self) -> int: ...

    @property
    def skips(self) -> int: ...

    @property
    def starved(self) -> int: ...

    @property
    def is_too_small(self) -> bool:
        """Return whether dropouts go on although its buffers grow no more."""

    @property
    def name(self) -> str: ...

    @property
    def done(self) -> bool:
        """True when everything was played after `finish`."""

    @property
    def drift(self) -> float:
        """Clock drift: by which fraction the output's clock runs faster than the input's, as far as
        known."""

    @property
    def latency(self) -> float:
        """Seconds from the callback to the sound."""

    @property
    def buffered(self) -> float:
        """Seconds that a sample waits between model and callback, on average."""

    def start(self, sample_rate: int, burst: float) -> None:
        """Open for samples at `sample_rate`, which come in bursts of up to `burst` seconds."""

    def write(self, enhanced: np.ndarray, seconds: float) -> None:
        """Play (samples, channels), which last `seconds`, after what was written before."""

    def relieve(self) -> None:
        """Open the device again with a larger buffer if it has starved a few times."""

    def finish(self) -> None:
        """Play what is there to its end; no more is coming."""
