"""qse live: enhance a microphone's signal and play it on headphones or a virtual device."""

import sys
from fractions import Fraction
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qse.errors import UsageError

from .options import Band, Model, Overwrite, Strength
from .streams import libraries_silenced, say

if TYPE_CHECKING:
    from qse.live.file_source import FileSource
    from qse.live.loudspeaker import Loudspeaker
    from qse.live.microphone import Microphone
    from qse.live.protocols import SoundSystem
    from qse.live.reconnect import Reconnector
    from qse.live.recorder import Recorder
    from qse.live.session import LiveSession
    from qse.live.worker import Worker

Virtual = Annotated[
    bool, typer.Option("--virtual", help="Create a virtual microphone for other programs while this runs (Linux).")
]
RemoveVirtual = Annotated[
    bool, typer.Option("--remove-virtual", help="Remove the virtual microphone that a crashed run left, and exit.")
]
PortAudio = Annotated[
    bool, typer.Option("--portaudio", help="Use PortAudio (ALSA, JACK) although a sound server runs (Linux).")
]
Monitor = Annotated[bool | None, typer.Option(help="Also play on the default output; --no-monitor never does.")]
Blocksize = Annotated[
    int | None,
    typer.Option(min=16, max=1 << 14, metavar="N", help="Samples per block. [default: a hop or 10 ms]"),
]
Buffer = Annotated[
    float, typer.Option(min=1, max=500, metavar="MS", help="Output buffer: larger = fewer dropouts, more latency.")
]


def live(
    context: typer.Context,
    input: Annotated[str | None, typer.Option(metavar="DEVICE", help="Microphone: id or part of its name.")] = None,
    output: Annotated[str | None, typer.Option(metavar="DEVICE", help="Output: id or part of its name.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the devices and exit.")] = False,
    virtual: Virtual = False,
    remove_virtual: RemoveVirtual = False,
    portaudio: PortAudio = False,
    from_: Annotated[Path | None, typer.Option("--from", metavar="FILE", help="Read a file, not a microphone.")] = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Write a file instead of playing.")] = None,
    fast: Annotated[bool, typer.Option("--as-fast-as-possible", help="File to file, not in real time.")] = False,
    model: Model = "live-base",
    band: Band = None,
    strength: Strength = None,
    bypass: Annotated[bool, typer.Option("--bypass", help="Begin with the noisy signal.")] = False,
    monitor: Monitor = None,
    record: Annotated[Path | None, typer.Option(metavar="FILE", help="Record noisy (left), enhanced (right).")] = None,
    overwrite: Overwrite = False,
    blocksize: Blocksize = None,
    buffer: Buffer = 20.0,
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="Threads of the model.")] = 1,
    reconnect: Annotated[bool, typer.Option(help="Wait for a device that vanishes, and open it again.")] = True,
    plain: Annotated[bool, typer.Option("--plain", help="Print one line a second instead of a screen.")] = False,
) -> None:
    """Remove noise from a live microphone signal, until Ctrl-C.

    Without options: default microphone to default output. Wear headphones, or the microphone picks up the output.
    Keys: + and - change the strength, m mutes, b switches to the noisy signal, r records, q quits.
    """
    if list_:
        _list(portaudio)
        return
    if remove_virtual:
        _remove_virtual()
        return
    _check(input, from_, fast, to is None or output is not None or monitor is True)
    _check_recording(record, from_, to)
    system, output = _virtual(context, output, portaudio) if virtual else (None, output)
    from qse.live.reconnect import Reconnector
    from qse.live.session import LiveSession
    from qse.live.worker import Worker
    from qse.runtime.bands import BandModels
    from qse.runtime.zoo import WIDE_BAND

    models = BandModels(model, band, threads, flush_to_zero=True)
    wide = models.at(WIDE_BAND).as_engine()
    seconds = buffer / 1000
    block = blocksize or Fraction(wide.hop_length, wide.sample_rate)  # as long at every sample rate
    outputs = _outputs(output, to, monitor)
    sound, source, speakers = _ports(input, from_, not fast, outputs, block, seconds, system, portaudio)
    engine = models.at(min(port.sample_rate for port in (source, *speakers))).as_engine()
    session = LiveSession(engine, source, speakers, strength=strength)
    session.bypass = bypass
    if record:
        session.record(_recorder(session, record, overwrite, paced=not fast))
    worker, reconnector = Worker(session, to, overwrite), Reconnector(session, sound, reconnect)
    _run(session, worker, reconnector, threads, plain, paced=not fast)


def _recorder(session: "LiveSession", path: Path, overwrite: bool = False, paced: bool = True) -> "Recorder":
    from qse.live.recorder import Recorder

    return Recorder(path, session.engine.sample_rate, 2 * session.channels, overwrite, paced)


def _check(input: str | None, from_: Path | None, fast: bool, plays: bool) -> None:
    if from_ is not None and input is not None:
        raise UsageError("--from takes the place of --input: name one of them")
    if fast and (from_ is None or plays):
        raise UsageError("--as-fast-as-possible works with --from FILE --to FILE only: a device has its own pace")


def _check_recording(record: Path | None, from_: Path | None, to: Path | None) -> None:
    if record is not None and realpath(record) in [realpath(path) for path in (from_, to) if path is not None]:
        raise UsageError(f"--record {record} is the file of --from or --to: name another recording")


def _outputs(output: str | None, to: Path | None, monitor: bool | None) -> list[str | None]:
    """Return the devices to play on; None is the default device, if asked for or if nothing was named."""
    named: list[str | None] = [output] if output is not None else []
    return [*named, None] if monitor or (monitor is None and not named and to is None) else named


def _ports(
    input: str | None,
    from_: Path | None,
    paced: bool,
    outputs: list[str | None],
    block: int | Fraction,
    buffer: float,
    system: "SoundSystem | None" = None,
    portaudio: bool = False,
) -> "tuple[SoundSystem | None, Microphone | FileSource, list[Loudspeaker]]":
    """Return the sound system (None if only files are used), the source, and the loudspeakers."""
    from qse.live.devices import refuse_feedback
    from qse.live.file_source import FileSource
    from qse.live.loudspeaker import Loudspeaker
    from qse.live.microphone import Microphone
    from qse.live.sound_system import sound_system

    file = FileSource(from_, block, paced, buffer) if from_ else None
    if file and not outputs:
        return None, file, []
    needed = system or sound_system(portaudio)
    source = file or Microphone(needed, input, block, buffer)
    speakers = [Loudspeaker(needed, wanted, block, buffer) for wanted in outputs]
    refuse_feedback(needed, source.devices, speakers)
    return needed, source, speakers


def _run(
    session: "LiveSession", worker: "Worker", reconnector: "Reconnector", threads: int, plain: bool, paced: bool
) -> None:
    """Run the session to its end, with a high priority where it has to keep pace and the machine is fast enough."""
    from qse.live.priority import steady
    from qse.live.speed_check import advice

    from .controls import Controls
    from .follow import follow

    controls = Controls(session, lambda path: _recorder(session, path, paced=paced))
    with steady(urgent=paced):  # measure at the priority of the session, or a busy machine counts as a slow one
        warning = advice(session.engine, threads) if paced else None
    with libraries_silenced(), steady(urgent=paced and warning is None):
        if warning:
            say(f"qse: {warning}")
        try:
            follow(session, worker, reconnector, controls, plain)
        finally:
            session.close()


def _virtual(context: typer.Context, output: str | None, portaudio: bool) -> "tuple[SoundSystem, str]":
    """Create the virtual microphone until this command ends; return the sound system and the output to play on."""
    from qse.live.virtual_device import OUTPUT, virtual_microphone

    if sys.platform != "linux":
        raise UsageError("--virtual works on Linux; elsewhere install BlackHole or VB-CABLE and name it by --output")
    if portaudio:
        raise UsageError("--virtual needs the sound server: leave --portaudio out")
    if output is not None:
        raise UsageError("--virtual takes the place of --output: name one of them")
    return context.with_resource(virtual_microphone()), OUTPUT


def _remove_virtual() -> None:
    from qse.live.virtual_device import remove_abandoned

    say("removed the virtual microphone" if remove_abandoned() else "there is no virtual microphone")


def _list(portaudio: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from qse.live.devices import NoDevice, devices
    from qse.live.sound_system import sound_system

    table = Table("id", "device", "host", "sample rate", "inputs", "outputs", "default", box=None)
    for device in devices(sound_system(portaudio)):
        rate, default = f"{device.sample_rate} Hz", " and ".join(device.default_for)
        table.add_row(str(device.id), device.name, device.host, rate, str(device.inputs), str(device.outputs), default)
    if not table.row_count:
        raise NoDevice("sound device")
    Console(markup=False).print(table)
