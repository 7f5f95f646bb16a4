"""The devices of qse live: what it reads from and plays on, the virtual microphone, and the list of
devices."""

import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from qse.errors import UsageError
from qse.printable import printable

from .streams import say

if TYPE_CHECKING:
    from rich.table import Table

    from qse.live.devices import Device
    from qse.live.file_input import FileInput
    from qse.live.loudspeaker import Loudspeaker
    from qse.live.microphone import Microphone
    from qse.live.protocols import SoundSystem
    from qse.live.virtual_device import VirtualMicrophone
    from qse.live.virtual_speaker import VirtualSpeaker

    from .live_options import Devices

DETAILS = 50  # columns of the list of devices beside the names
UNCUT = 200  # columns of the list of devices where it does not go to a terminal


def chosen_outputs(output: str | None, to: Path | None, monitor: bool | None) -> list[str | None]:
    """Return the devices to play on; None is the default device, if asked for or if nothing was
    named."""
    named: list[str | None] = [output] if output is not None else []
    alone = not named and to is None
    return [*named, None] if monitor or (monitor is None and alone) else named


@dataclass(frozen=True)
class PortOptions:
    """Settings of the ports of a session.

    block: in samples or seconds. buffer: in seconds. channel: the only channel of the microphone
    that is heard. waits: wait for a microphone where there is none. paced: read a file in real
    time.
    """

    block: int | Fraction
    buffer: float
    channel: int | None = None
    waits: bool = True
    paced: bool = True


def opened_ports(
    system: "SoundSystem | None",
    input: str | None,
    from_: Path | None,
    outputs: list[str | None],
    options: PortOptions,
) -> "tuple[Microphone | FileInput, list[Loudspeaker]]":
    """Return the source and the loudspeakers; `system` may be None if only files are used."""
    from qse.live.devices import refuse_feedback
    from qse.live.file_input import FileInput
    from qse.live.loudspeaker import Loudspeaker

    file = FileInput(from_, options.block, options.paced, options.buffer) if from_ else None
    if system is None:
        assert file
        return file, []
    source = file or _microphone(system, input, options)
    speakers = [Loudspeaker(system, wanted, options.block, options.buffer) for wanted in outputs]
    refuse_feedback(system, source.devices, speakers)
    return source, speakers


def _microphone(sound: "SoundSystem", wanted: str | None, options: PortOptions) -> "Microphone":
    from qse.live.microphone import Microphone
    from qse.live.microphone_wait import awaited_microphone

    def make() -> Microphone:
        return Microphone(sound, wanted, options.block, options.buffer, options.channel)

    if not options.waits:
        return make()
    return awaited_microphone(sound, make, lambda text: say(f"qse: {text}"))


def virtual_output(
    context: typer.Context, devices: "Devices"
) -> "tuple[VirtualMicrophone, SoundSystem]":
    """Create the virtual microphone until this command ends; return it and the sound system to play
    into it."""
    from qse.live.virtual_device import virtual_microphone

    if sys.platform != "linux":
        cure = "elsewhere install BlackHole or VB-CABLE and name it by --output"
        raise UsageError(f"--virtual works on Linux; {cure}")
    if devices.portaudio:
        raise UsageError("--virtual needs the sound server: leave --portaudio out")
    if devices.output is not None:
        raise UsageError("--virtual takes the place of --output: name one of them")
    return context.with_resource(virtual_microphone(devices.name))


def virtual_input(
    context: typer.Context, devices: "Devices"
) -> "tuple[VirtualSpeaker, SoundSystem]":
    """Create the virtual loudspeaker until this command ends; return it and the sound system to
    record it."""
    from qse.live.virtual_speaker import virtual_speaker

    if sys.platform != "linux":
        raise UsageError("--virtual-speaker works on Linux only: it needs the sound server")
    if devices.portaudio:
        raise UsageError("--virtual-speaker needs the sound server: leave --portaudio out")
    if devices.virtual:
        raise UsageError("--virtual and --virtual-speaker are two sessions: start qse live twice")
    if devices.input is not None or devices.channel:
        raise UsageError("--virtual-speaker takes the place of --input and --channel: name one")
    return context.with_resource(virtual_speaker(devices.name))


def remove_virtual_devices(name: str) -> None:
    """Remove the virtual devices that a crashed run left, and say whether there were any."""
    from qse.live.virtual_device import VirtualMicrophone
    from qse.live.virtual_speaker import VirtualSpeaker

    for device in (VirtualMicrophone(name), VirtualSpeaker(name)):
        kind = device.modules.kind
        removed = device.modules.remove_abandoned()
        say(f"removed the virtual {kind}" if removed else f"there is no virtual {kind}")


def print_devices(portaudio: bool) -> None:
    """Print the list of devices: microphones, outputs, and what records an output."""
    from rich.console import Console
    from rich.table import Table

    from qse.live.devices import NoDevice, devices
    from qse.live.sound_system import sound_system

    found = devices(sound_system(portaudio))
    if not found:
        raise NoDevice("sound device")
    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, UNCUT)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("id", no_wrap=True)
    table.add_column("device", overflow="fold")
    found.sort(key=_order)
    longest = max(len(_full_name(device)) for device in found)
    if console.width < longest + DETAILS:
        _add_below(table, found)
    else:
        _add_beside(table, found)
    console.print(table)


def _full_name(device: "Device") -> str:
    return printable(f"{device.name} ({device.host})")


def _add_beside(table: "Table", found: "list[Device]") -> None:
    """Add a row for each device."""
    for name in ("sample rate", "in", "out", "default"):
        table.add_column(name, no_wrap=True)
    for device in found:
        table.add_row(
            str(device.id),
            _full_name(device),
            f"{device.sample_rate} Hz",
            str(device.inputs or ""),
            str(device.outputs or ""),
            " and ".join(device.default_for),
        )


def _add_below(table: "Table", found: "list[Device]") -> None:
    """Add a row for each device, and one below with its details: a narrow terminal has no room for
    them beside a name."""
    for device in found:
        details = [f"{device.sample_rate} Hz"]
        if device.inputs:
            details.append(f"{device.inputs} in")
        if device.outputs:
            details.append(f"{device.outputs} out")
        if device.default_for:
            details.append(f"default {' and '.join(device.default_for)}")
        table.add_row(str(device.id), _full_name(device))
        table.add_row("", "  ".join(details), style="dim")


def _order(device: "Device") -> tuple[int, int]:
    """Order microphones first, then outputs, then inputs that record an output."""
    microphone = device.inputs and not device.monitored
    kind = 0 if microphone else 1 if device.outputs else 2
    return kind, device.id
