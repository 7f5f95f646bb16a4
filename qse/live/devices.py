"""List the audio devices of a sound system, and find one by its id or a part of its name.

kind: "input" or "output". PortAudio lists a device once for every host API (ALSA, Core Audio, ...)
that offers it.
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any
from unicodedata import normalize

from ..errors import UsageError
from .protocols import Device, DevicePort, SoundSystem

SHORTEST_BLOCK = Fraction(1, 100)  # seconds

SERVER = (
    "plug one in, or where there is no hardware install a sound server: `apt install pulseaudio`"
    " (Debian, Ubuntu), `dnf install pulseaudio-utils pipewire-pulseaudio` (Fedora),"
    " `brew install blackhole-2ch` (macOS), `choco install vb-cable` (Windows); qse denoise needs"
    " none"
)


class NoSound(UsageError):
    """A device or library for live sound is missing, or does not fit the request."""


class NoMicrophone(NoSound):
    """There is no microphone, or only sources that record what is played on an output."""


class Unusable(NoSound):
    """A device does not fit the session, and waiting changes nothing: the process must end."""


class NoDevice(NoSound):
    """The machine has no device of the kind that is needed."""

    def __init__(self, what: str):
        super().__init__(f"no {what} is visible on this machine: {SERVER}")


def block_of(size: int | Fraction | None, sample_rate: int) -> int:
    """Return the samples of a block: `size` samples (int); or hops of `size` seconds (Fraction), as
    few as last 10 ms, if integral; else 10 ms."""
    if isinstance(size, int):
        return size
    hop = size or SHORTEST_BLOCK
    samples = sample_rate * hop * ceil(SHORTEST_BLOCK / hop)
    return samples.numerator if samples.denominator == 1 else max(1, sample_rate // 100)


def devices(sound: SoundSystem) -> list[Device]:
    """Return all devices, ordered by their ids."""
    hosts = sound.query_hostapis()
    defaults = dict(zip(("input", "output"), sound.default.device, strict=True))
    found = []
    for id, entry in enumerate(sound.query_devices()):
        device = Device(
            id,
            entry["name"],
            hosts[entry["hostapi"]]["name"],
            round(entry["default_samplerate"]),
            entry["max_input_channels"],
            entry["max_output_channels"],
            tuple(kind for kind, default in defaults.items() if default == id),
            _monitored(entry),
        )
        found.append(device)
    return found


def find(sound: SoundSystem, kind: str, wanted: str | None = None) -> Device:
    """Return the device with the id `wanted`, or whose "name (host)" contains it (any case); for
    None the default.

    An equal name goes before one that contains `wanted`, and a device on the default device's host
    before others. An input that records what is played is found only by its id, by its whole name,
    or by a text with "monitor". Raises NoSound, with the candidates, if none or several are left;
    NoMicrophone if there is no microphone and none was named.
    """
    present = devices(sound)
    usable = [device for device in present if device.channels(kind)]
    if wanted is None and kind == "input" and present:
        _require_microphone(usable)
    if not usable:
        raise NoDevice({"input": "microphone or other sound input", "output": "sound output"}[kind])

    if wanted is None:
        found = [device for device in usable if kind in device.default_for]
    else:
        found = _matches(usable, kind, wanted)
    if len(found) == 1:
        return found[0]

    if found:
        reason = f"{wanted!r} matches several {kind} devices"
    elif wanted is None:
        reason = f"no {kind} device is marked as default"
    else:
        reason = f"{wanted!r} matches no {kind} device"
    raise NoSound(f"{reason}; name one of: " + "; ".join(map(str, found or usable)))


def refuse_feedback(
    sound: SoundSystem, inputs: Iterable[DevicePort], outputs: Iterable[DevicePort]
) -> None:
    """Raise NoSound if an input records what is played on an output, as a sound server's monitor of
    it does."""
    entries = sound.query_devices()
    for input, output in product(inputs, outputs):
        monitored = entries[input.device.id].get("monitor")
        if monitored and monitored == entries[output.device.id].get("pulse"):
            fault = f"{input.device} records what is played on {output.device}"
            cure = "choose a microphone as input, or another output"
            raise NoSound(f"{fault}, so the output would return to the input: {cure}")


def _monitored(entry: dict[str, Any]) -> str:
    """Return the output that an input records: by the sound server's word, else by its name, as
    PortAudio's have it."""
    name: str = entry["name"]
    by_name = name.partition("onitor of ")[2] if name.lower().startswith("monitor of ") else ""
    return entry.get("monitor") or by_name


def _require_microphone(inputs: list[Device]) -> None:
    """Raise NoMicrophone if no microphone is among the inputs, or if the default one is none."""
    cure = "plug in or switch on a microphone, or choose another input (see qse live --list)"
    if all(device.monitored for device in inputs):
        raise NoMicrophone(
            f"there is no microphone, and what is played on an output is not taken for one: {cure}"
        )
    for device in inputs:
        if device.monitored and "input" in device.default_for:
            what = f"records what is played on {device.monitored}, it is no microphone"
            raise NoMicrophone(f"the default input {device} {what}: {cure}")


def _matches(usable: list[Device], kind: str, wanted: str) -> list[Device]:
    if wanted.isdecimal():
        return [device for device in usable if device.id == int(wanted)]
    text = _folded(wanted)
    found = [device for device in usable if _folded(device.name) == text]
    if not found:
        eligible = [device for device in usable if not device.monitored or "monitor" in text]
        found = [device for device in eligible if text in _folded(f"{device.name} ({device.host})")]
    home = [device.host for device in usable if kind in device.default_for]
    near = [device for device in found if device.host in home]
    return near if len(near) == 1 else found


def _folded(name: str) -> str:
    """Return a name as names are compared: composed letters (NFC), in lower case."""
    return normalize("NFC", normalize("NFC", name).lower())
