"""qse live: a microphone, made clean while one speaks, into headphones or a virtual device."""

import sys
from fractions import Fraction
from os.path import realpath
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from qse.errors import UsageError

from .options import Strength

if TYPE_CHECKING:
    from qse.live.file_source import FileSource
    from qse.live.ports import Loudspeaker, Microphone
    from qse.live.reconnect import Reconnector, Worker
    from qse.live.session import LiveSession


def live(
    input: Annotated[str | None, typer.Option(metavar="DEVICE", help="Microphone: id or part of its name.")] = None,
    output: Annotated[str | None, typer.Option(metavar="DEVICE", help="Where to play: id or part of a name.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the devices and exit.")] = False,
    from_: Annotated[Path | None, typer.Option("--from", metavar="FILE", help="A file in place of input.")] = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="A file in place of output.")] = None,
    fast: Annotated[
        bool, typer.Option("--as-fast-as-possible", help="File to file, not paced by the wall clock.")
    ] = False,
    model: Annotated[str, typer.Option(help="Name of a model (qse info lists them), or a path.")] = "live-base",
    strength: Strength = None,
    bypass: Annotated[bool, typer.Option("--bypass", help="Begin with the noisy signal; the key b switches.")] = False,
    monitor: Annotated[
        bool | None,
        typer.Option(help="Play on the default output: beside --output or --to, or with --no-monitor nowhere."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record noisy (left) and enhanced (right).")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist already.")] = False,
    blocksize: Annotated[
        int | None,
        typer.Option(min=16, max=1 << 14, metavar="SAMPLES", help="Block of the sound card; else a hop or 10 ms."),
    ] = None,
    cushion: Annotated[
        float, typer.Option(min=1, max=500, metavar="MS", help="Sound kept in hand against blocks that come late.")
    ] = 20.0,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the model.")] = 1,
    reconnect: Annotated[bool, typer.Option(help="Wait for a device that vanishes, and take it up again.")] = True,
    plain: Annotated[bool, typer.Option("--plain", help="One line a second, for logs and pipes.")] = False,
) -> None:
    """Clean a microphone's sound while it is spoken into, until Ctrl-C.

    Without options: default microphone to default output. Wear headphones, or the output returns to the microphone.
    The key b switches between noisy and enhanced.
    """
    if list_:
        _list()
        return
    _check(input, from_, fast, to is None or output is not None or monitor is True)
    _check_recording(record, from_, to)
    from qse.live.reconnect import Reconnector, Worker
    from qse.live.recorder import Recorder
    from qse.live.session import LiveSession
    from qse.runtime.zoo import load, streaming

    engine = streaming(load(model, threads, flush_to_zero=True))
    block = blocksize or Fraction(engine.hop_length, engine.sample_rate)
    sound, source, speakers = _ports(input, from_, not fast, _outputs(output, to, monitor), block, cushion / 1000)
    channels = 2 * (1 if speakers else source.channels)
    recorder = Recorder(record, engine.sample_rate, channels, overwrite, paced=not fast) if record else None
    session = LiveSession(engine, source, speakers, recorder, strength)
    session.bypass = bypass
    _run(
        session, Worker(session, to, overwrite), Reconnector(session, sound, reconnect), threads, plain, paced=not fast
    )


def _check(input: str | None, from_: Path | None, fast: bool, plays: bool) -> None:
    if from_ is not None and input is not None:
        raise UsageError("--from takes the place of --input: name one of them")
    if fast and (from_ is None or plays):
        raise UsageError("--as-fast-as-possible is for --from FILE --to FILE: a device has its own pace")


def _check_recording(record: Path | None, from_: Path | None, to: Path | None) -> None:
    if record is not None and realpath(record) in [realpath(path) for path in (from_, to) if path is not None]:
        raise UsageError(f"--record {record}: is the file of --from or --to already; name another recording")


def _outputs(output: str | None, to: Path | None, monitor: bool | None) -> list[str | None]:
    """The devices to play on: what was named, and the default (None) if asked for or if nothing was named."""
    named: list[str | None] = [output] if output is not None else []
    return [*named, None] if monitor or (monitor is None and not named and to is None) else named


def _ports(
    input: str | None, from_: Path | None, paced: bool, outputs: list[str | None], block: int | Fraction, cushion: float
) -> "tuple[ModuleType | None, Microphone | FileSource, list[Loudspeaker]]":
    """The module that plays and records (None if only files do), the source, and the loudspeakers."""
    from qse.live.devices import sound
    from qse.live.file_source import FileSource
    from qse.live.ports import Loudspeaker, Microphone

    file = FileSource(from_, block, paced, cushion) if from_ else None
    if file and not outputs:
        return None, file, []
    needed = sound()
    source = file or Microphone(needed, input, block, cushion)
    return needed, source, [Loudspeaker(needed, wanted, block, cushion) for wanted in outputs]


def _run(
    session: "LiveSession", worker: "Worker", watch: "Reconnector", threads: int, plain: bool, paced: bool
) -> None:
    """The session from its start to its end: ahead of other programs, where it has to keep pace and can."""
    from qse.live.priority import quiet, steady
    from qse.live.speed_check import advice

    from .follow import follow

    warning = advice(session.engine, threads) if paced else None
    with quiet(), steady(urgent=paced and warning is None):
        if warning:
            print(f"qse: {warning}", file=sys.stderr)
        try:
            follow(session, worker, watch, plain)
        finally:
            session.close()


def _list() -> None:
    from rich.console import Console
    from rich.table import Table

    from qse.live.devices import NoDevice, devices, sound

    table = Table("id", "device", "host", "sample rate", "inputs", "outputs", "default", box=None)
    for device in devices(sound()):
        rate, default = f"{device.sample_rate} Hz", " and ".join(device.default_for)
        table.add_row(str(device.id), device.name, device.host, rate, str(device.inputs), str(device.outputs), default)
    if not table.row_count:
        raise NoDevice("sound device")
    Console(markup=False).print(table)
