"""qse live: enhance a microphone's signal and play it on headphones or a virtual device."""

from fractions import Fraction
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qse.errors import UsageError

from .live_devices import (
    PortOptions,
    chosen_outputs,
    opened_ports,
    print_devices,
    remove_virtual_microphone,
    virtual_output,
)
from .options import Band, Model, Overwrite, Strength
from .streams import libraries_silenced, say

if TYPE_CHECKING:
    from qse.live.reconnect import Reconnector
    from qse.live.recorder import Recorder
    from qse.live.session import LiveSession
    from qse.live.worker import Worker

Virtual = Annotated[
    bool,
    typer.Option(
        "--virtual", help="Create a virtual microphone for other programs while this runs (Linux)."
    ),
]
RemoveVirtual = Annotated[
    bool,
    typer.Option(
        "--remove-virtual", help="Remove the virtual microphone that a crashed run left, and exit."
    ),
]
PortAudio = Annotated[
    bool,
    typer.Option(
        "--portaudio", help="Use PortAudio (ALSA, JACK) although a sound server runs (Linux)."
    ),
]
Monitor = Annotated[
    bool | None, typer.Option(help="Also play on the default output; --no-monitor never does.")
]
Channel = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Hear only channel N of the microphone. [default: mix 1 and 2]"
    ),
]
Blocksize = Annotated[
    int | None,
    typer.Option(
        min=16, max=1 << 14, metavar="N", help="Samples per block. [default: a hop or 10 ms]"
    ),
]
Buffer = Annotated[
    float,
    typer.Option(
        min=1, max=500, metavar="MS", help="Output buffer: larger = fewer dropouts, more latency."
    ),
]


def live(
    context: typer.Context,
    input: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Microphone: id or part of its name.")
    ] = None,
    channel: Channel = None,
    output: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Output: id or part of its name.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the devices and exit.")] = False,
    virtual: Virtual = False,
    remove_virtual: RemoveVirtual = False,
    portaudio: PortAudio = False,
    from_: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Read a file, not a microphone.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write a file instead of playing.")
    ] = None,
    fast: Annotated[
        bool, typer.Option("--as-fast-as-possible", help="File to file, not in real time.")
    ] = False,
    model: Model = "live-base",
    band: Band = None,
    strength: Strength = None,
    bypass: Annotated[bool, typer.Option("--bypass", help="Begin with the noisy signal.")] = False,
    monitor: Monitor = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record noisy (left), enhanced (right).")
    ] = None,
    overwrite: Overwrite = False,
    blocksize: Blocksize = None,
    buffer: Buffer = 20.0,
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="Threads of the model.")] = 1,
    reconnect: Annotated[
        bool, typer.Option(help="Wait for a device that vanishes, and open it again.")
    ] = True,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print one line a second instead of a screen.")
    ] = False,
) -> None:
    """Remove noise from a live microphone signal, until Ctrl-C.

    Without options: default microphone to default output. Wear headphones, or the microphone picks up the output.
    Keys: + and - change the strength, m mutes, b switches to the noisy signal, r records, q quits.
    """
    if list_:
        print_devices(portaudio)
        return
    if remove_virtual:
        remove_virtual_microphone()
        return
    _check(input or channel, from_, fast, to is None or output is not None or monitor is True)
    _check_recording(record, from_, to)
    system, output = virtual_output(context, output, portaudio) if virtual else (None, output)
    from qse.live.reconnect import Reconnector
    from qse.live.session import LiveSession
    from qse.live.worker import Worker
    from qse.runtime.bands import BandModels
    from qse.runtime.zoo import WIDE_BAND, streaming

    models = BandModels(model, band, threads, flush_to_zero=True)
    wide = streaming(models.at(WIDE_BAND))
    block = blocksize or Fraction(wide.hop_length, wide.sample_rate)  # as long at every sample rate
    outputs = chosen_outputs(output, to, monitor)
    options = PortOptions(block, buffer / 1000, channel, waits=reconnect, paced=not fast)
    sound, source, speakers = opened_ports(input, from_, outputs, options, system, portaudio)
    lowest = min(port.sample_rate for port in (source, *speakers))
    engine = streaming(models.at(lowest))
    session = LiveSession(engine, source, speakers, strength=strength)
    session.bypass = bypass
    if record:
        session.record(_recorder(session, record, overwrite, paced=not fast))
    worker, reconnector = Worker(session, to, overwrite), Reconnector(session, sound, reconnect)
    _run(session, worker, reconnector, threads, plain, paced=not fast)


def _recorder(
    session: "LiveSession", path: Path, overwrite: bool = False, paced: bool = True
) -> "Recorder":
    from qse.live.recorder import Recorder

    return Recorder(path, session.engine.sample_rate, 2 * session.channels, overwrite, paced)


def _check(input: str | int | None, from_: Path | None, fast: bool, plays: bool) -> None:
    if from_ is not None and input is not None:
        raise UsageError(
            "--from takes the place of --input and --channel, which are a microphone's: name one of them"
        )
    if fast and (from_ is None or plays):
        raise UsageError(
            "--as-fast-as-possible works with --from FILE --to FILE only: a device has its own pace"
        )


def _check_recording(record: Path | None, from_: Path | None, to: Path | None) -> None:
    if record is not None and realpath(record) in [
        realpath(path) for path in (from_, to) if path is not None
    ]:
        raise UsageError(f"--record {record} is the file of --from or --to: name another recording")


def _run(
    session: "LiveSession",
    worker: "Worker",
    reconnector: "Reconnector",
    threads: int,
    plain: bool,
    paced: bool,
) -> None:
    """Run the session to its end, with a high priority where it has to keep pace and the machine is fast enough."""
    from qse.live.priority import steady
    from qse.live.speed_check import advice

    from .controls import Controls
    from .follow import follow

    controls = Controls(session, lambda path: _recorder(session, path, paced=paced))
    with steady(
        urgent=paced
    ):  # measure at the priority of the session, or a busy machine counts as a slow one
        warning = advice(session.engine, threads) if paced else None
    with libraries_silenced(), steady(urgent=paced and warning is None):
        if warning:
            say(f"qse: {warning}")
        try:
            follow(session, worker, reconnector, controls, plain)
        finally:
            session.close()
