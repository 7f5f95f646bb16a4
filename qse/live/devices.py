"""Which sound devices there are, as PortAudio sees them, and which of them is meant by an id or a part of a name.

kind: "input" or "output". A device is listed once for every host API (ALSA, Core Audio, WASAPI, ...) that offers it.
sound: the module `sounddevice`, or whatever answers like it.
"""

from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType

from ..errors import UsageError

LIBRARY = (
    "install PortAudio with `apt install libportaudio2` (Debian, Ubuntu), `dnf install portaudio` (Fedora),"
    " `brew install portaudio` (macOS) or `pip install --force-reinstall sounddevice` (Windows)"
)
SERVER = (
    "plug one in, or where there is no hardware install a sound server: `apt install pulseaudio libasound2-plugins`"
    " (Debian, Ubuntu), `dnf install pulseaudio-utils pipewire-pulseaudio alsa-plugins-pulseaudio` (Fedora),"
    " `brew install blackhole-2ch` (macOS), `choco install vb-cable` (Windows); qse denoise needs none"
)


class NoSound(UsageError):
    """Something that live sound needs is missing from the machine, or is not what was asked for."""


class NoDevice(NoSound):
    """There is no device at all of the kind that is needed."""

    def __init__(self, what: str):
        super().__init__(f"no {what} is visible on this machine: {SERVER}")


@dataclass(frozen=True)
class Device:
    """One entry of PortAudio's list; `inputs` and `outputs` count channels, `default_for` holds kinds."""

    id: int
    name: str
    host: str
    sample_rate: int
    inputs: int
    outputs: int
    default_for: tuple[str, ...]

    def channels(self, kind: str) -> int:
        """How many channels it has of a kind."""
        return self.inputs if kind == "input" else self.outputs

    def __str__(self) -> str:
        return f"{self.id} {self.name} ({self.host})"


def block_of(size: int | Fraction | None, sample_rate: int) -> int:
    """Samples of a block: as many as are asked for, or in so many seconds (a Fraction) if whole; else 10 ms."""
    if isinstance(size, int):
        return size
    samples = sample_rate * (size or Fraction(1, 100))
    return samples.numerator if samples.denominator == 1 else max(1, sample_rate // 100)


def sound() -> ModuleType:
    """The module sounddevice. Raises NoSound if it or PortAudio cannot be loaded."""
    try:
        import sounddevice
    except ImportError as error:
        raise NoSound("the Python package sounddevice is missing: `pip install sounddevice`") from error
    except OSError as error:
        raise NoSound(f"the PortAudio library was not found: {LIBRARY}") from error
    except Exception as error:  # PortAudioError, of the very module that could not be imported
        raise NoSound(f"PortAudio cannot start: {error}; is a sound server running?") from error
    return sounddevice


def devices(sound: ModuleType) -> list[Device]:
    """All devices, in PortAudio's order, which is that of their ids."""
    hosts, defaults = sound.query_hostapis(), dict(zip(("input", "output"), sound.default.device, strict=True))
    return [
        Device(
            id,
            entry["name"],
            hosts[entry["hostapi"]]["name"],
            round(entry["default_samplerate"]),
            entry["max_input_channels"],
            entry["max_output_channels"],
            tuple(kind for kind, default in defaults.items() if default == id),
        )
        for id, entry in enumerate(sound.query_devices())
    ]


def find(sound: ModuleType, kind: str, wanted: str | None = None) -> Device:
    """The device whose id is `wanted`, or whose "name (host)" contains it in any case; the default one for None.

    A name that is `wanted` and nothing more goes before one that contains it, and then a device of the default
    device's host before others. Raises NoSound, with the candidates, if none or several are left.
    """
    usable = [device for device in devices(sound) if device.channels(kind)]
    if not usable:
        raise NoDevice({"input": "microphone or other sound input", "output": "sound output"}[kind])
    if wanted is None:
        found = [device for device in usable if kind in device.default_for]
    else:
        found = _matches(usable, kind, wanted)
    if len(found) == 1:
        return found[0]
    reason = f"no {kind} device is marked as default" if wanted is None else f"{wanted!r} matches no {kind} device"
    if found:
        reason = f"{wanted!r} matches several {kind} devices"
    raise NoSound(f"{reason}; name one of: " + "; ".join(map(str, found or usable)))


def _matches(usable: list[Device], kind: str, wanted: str) -> list[Device]:
    if wanted.isdecimal():
        return [device for device in usable if device.id == int(wanted)]
    text = wanted.lower()
    found = [device for device in usable if device.name.lower() == text]
    found = found or [device for device in usable if text in f"{device.name} ({device.host})".lower()]
    home = [device.host for device in usable if kind in device.default_for]
    near = [device for device in found if device.host in home]
    return near if len(near) == 1 else found
