"""The devices of qse live: what it reads from and plays on, the virtual microphone, and the list of devices."""

import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from qse.errors import UsageError

from .streams import say

if TYPE_CHECKING:
    from qse.live.file_source import FileSource
    from qse.live.loudspeaker import Loudspeaker
    from qse.live.microphone import Microphone
    from qse.live.protocols import SoundSystem


def chosen_outputs(output: str | None, to: Path | None, monitor: bool | None) -> list[str | None]:
    """Return the devices to play on; None is the default device, if asked for or if nothing was named."""
    named: list[str | None] = [output] if output is not None else []
    return [*named, None] if monitor or (monitor is None and not named and to is None) else named


@dataclass(frozen=True)
class PortOptions:
    """What the ports of a session are opened with: `block` in samples or seconds, `buffer` in seconds.

    `channel`: the only channel of the microphone that is heard. `waits`: wait for a microphone where there is none.
    `paced`: read a file in real time.
    """

    block: int | Fraction
    buffer: float
    channel: int | None = None
    waits: bool = True
    paced: bool = True


def opened_ports(
    input: str | None,
    from_: Path | None,
    outputs: list[str | None],
    options: PortOptions,
    system: "SoundSystem | None" = None,
    portaudio: bool = False,
) -> "tuple[SoundSystem | None, Microphone | FileSource, list[Loudspeaker]]":
    """Return the sound system (None if only files are used), the source, and the loudspeakers."""
    from qse.live.devices import refuse_feedback
    from qse.live.file_source import FileSource
    from qse.live.loudspeaker import Loudspeaker
    from qse.live.sound_system import sound_system

    file = FileSource(from_, options.block, options.paced, options.buffer) if from_ else None
    if file and not outputs:
        return None, file, []
    needed = system or sound_system(portaudio)
    source = file or _microphone(needed, input, options)
    speakers = [Loudspeaker(needed, wanted, options.block, options.buffer) for wanted in outputs]
    refuse_feedback(needed, source.devices, speakers)
    return needed, source, speakers


def _microphone(sound: "SoundSystem", wanted: str | None, options: PortOptions) -> "Microphone":
    from qse.live.microphone import Microphone
    from qse.live.microphone_wait import awaited_microphone

    def make() -> Microphone:
        return Microphone(sound, wanted, options.block, options.buffer, options.channel)

    return (
        awaited_microphone(sound, make, lambda text: say(f"qse: {text}"))
        if options.waits
        else make()
    )


def virtual_output(
    context: typer.Context, output: str | None, portaudio: bool
) -> "tuple[SoundSystem, str]":
    """Create the virtual microphone until this command ends; return the sound system and the output to play on."""
    from qse.live.virtual_device import OUTPUT, virtual_microphone

    if sys.platform != "linux":
        raise UsageError(
            "--virtual works on Linux; elsewhere install BlackHole or VB-CABLE and name it by --output"
        )
    if portaudio:
        raise UsageError("--virtual needs the sound server: leave --portaudio out")
    if output is not None:
        raise UsageError("--virtual takes the place of --output: name one of them")
    return context.with_resource(virtual_microphone()), OUTPUT


def remove_virtual_microphone() -> None:
    """Remove the virtual microphone that a crashed run left, and say whether there was one."""
    from qse.live.virtual_device import remove_abandoned

    say(
        "removed the virtual microphone" if remove_abandoned() else "there is no virtual microphone"
    )


def print_devices(portaudio: bool) -> None:
    """Print the list of devices."""
    from rich.console import Console
    from rich.table import Table

    from qse.live.devices import NoDevice, devices
    from qse.live.sound_system import sound_system

    table = Table("id", "device", "host", "sample rate", "inputs", "outputs", "default", box=None)
    for device in devices(sound_system(portaudio)):
        rate, default = f"{device.sample_rate} Hz", " and ".join(device.default_for)
        table.add_row(
            str(device.id),
            device.name,
            device.host,
            rate,
            str(device.inputs),
            str(device.outputs),
            default,
        )
    if not table.row_count:
        raise NoDevice("sound device")
    Console(markup=False).print(table)
