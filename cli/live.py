"""qse live: enhance a microphone's signal and play it on headphones or a virtual device."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from qse.errors import UsageError

from .live_devices import (
    PortOptions,
    chosen_outputs,
    opened_ports,
    print_devices,
    remove_virtual_devices,
    virtual_input,
    virtual_output,
)
from .live_options import Devices, Display, Files, Processing, Timing
from .options import check_talker, chosen_model, chosen_talker, grouped
from .streams import libraries_silenced, say

if TYPE_CHECKING:
    from qse.live.recorder import Recorder
    from qse.live.session import LiveSession
    from qse.live.standby import VirtualDevice
    from qse.runtime.bands import BandModels

    from .running import Running


@grouped
def live(
    context: typer.Context,
    devices: Devices,
    files: Files,
    processing: Processing,
    timing: Timing,
    display: Display,
) -> None:
    """Remove noise from a live microphone signal, until Ctrl-C.

    Without options: default microphone to default output. Wear headphones, or the microphone picks
    up the output. Keys: + and - change the strength, m mutes, b switches to the noisy signal, r
    records, q quits.
    """
    if devices.list_:
        print_devices(devices.portaudio)
        return
    if devices.remove_virtual:
        remove_virtual_devices(devices.name)
        return

    _check(devices, files)
    check_talker(processing.talker, filter(None, (files.to, files.record)))
    virtual: VirtualDevice | None = None
    system = None
    input = devices.input
    output = devices.output
    if devices.virtual_speaker:
        speaker, system = virtual_input(context, devices)
        virtual = speaker
        input = speaker.input
    elif devices.virtual:
        microphone, system = virtual_output(context, devices)
        virtual = microphone
        output = microphone.output
    from qse.live.sound_system import sound_system

    models = _models(processing)
    ports = _port_options(models, devices, files, timing)
    outputs = chosen_outputs(output, files.to, devices.monitor)
    if system is None and (files.from_ is None or outputs):
        system = sound_system(devices.portaudio)
    source, speakers = opened_ports(system, input, files.from_, outputs, ports)
    rate = min(port.sample_rate for port in (source, *speakers))

    from qse.live.session import LiveSession
    from qse.runtime.zoo import streaming

    engine = streaming(models.at(rate))
    session = LiveSession(engine, source, speakers, strength=processing.strength)
    session.bypass = processing.bypass
    running = _running(session, system, files, devices, virtual)
    if files.record:
        session.record(_recorder(session, files.record, files.overwrite, paced=not files.fast))
    if virtual:
        kind = "output" if virtual.is_speaker else "microphone"
        say(f"choose '{virtual.label}' as the {kind} in your program")
    _run(running, processing.threads, display, paced=not files.fast)


def _models(processing: Processing) -> "BandModels":
    """Return the graphs of the model that was named, or that the latency allows."""
    from qse.live.model_choice import model_within
    from qse.runtime.bands import BandModels
    from qse.runtime.zoo import DEFAULT_MODEL

    talker = processing.talker
    model = chosen_model(processing.model, talker, DEFAULT_MODEL)
    if processing.latency is not None:
        if processing.model or talker:
            other = "--model" if processing.model else "--talker"
            raise UsageError(f"--latency chooses the model, so {other} cannot: name one of them")
        model = model_within(processing.latency / 1000)
    voice = chosen_talker(talker, model)
    return BandModels(model, processing.band, processing.threads, flush_to_zero=True, talker=voice)


def _port_options(
    models: "BandModels", devices: Devices, files: Files, timing: Timing
) -> PortOptions:
    from qse.runtime.zoo import WIDE_BAND, streaming

    wide = streaming(models.at(WIDE_BAND))
    hop = Fraction(wide.hop_length, wide.sample_rate)  # as long at every sample rate
    return PortOptions(
        timing.blocksize or hop,
        timing.buffer / 1000,
        devices.channel,
        waits=devices.reconnect,
        paced=not files.fast,
    )


def _running(
    session: "LiveSession",
    system: object,
    files: Files,
    devices: Devices,
    virtual: "VirtualDevice | None",
) -> "Running":
    """Put together what runs beside the session."""
    from qse.live.reconnect import Reconnector
    from qse.live.standby import Standby
    from qse.live.worker import Worker

    from .controls import Controls
    from .running import Running

    reconnector = Reconnector(session, system, devices.reconnect)  # type: ignore[arg-type]
    controls = Controls(session, lambda path: _recorder(session, path, paced=not files.fast))
    standby = None
    if virtual:
        alone = len(session.speakers) == 1 and not files.to and not files.from_
        standby = Standby(session, reconnector, virtual, closes=alone)
    worker = Worker(session, files.to, files.overwrite)
    return Running(session, worker, reconnector, controls, standby)


def _recorder(
    session: "LiveSession", path: Path, overwrite: bool = False, paced: bool = True
) -> "Recorder":
    from qse.live.recorder import Recorder

    return Recorder(path, session.engine.sample_rate, 2 * session.channels, overwrite, paced)


def _check(devices: Devices, files: Files) -> None:
    """Raise UsageError for options that exclude each other."""
    from qse.runtime.found_inputs import file_name

    if files.from_ is not None and (devices.input or devices.channel):
        reason = "--from takes the place of --input and --channel, which are a microphone's"
        raise UsageError(f"{reason}: name one of them")
    plays = files.to is None or devices.output is not None or devices.monitor is True
    if files.fast and (files.from_ is None or plays):
        reason = "--as-fast-as-possible works with --from FILE --to FILE only"
        raise UsageError(f"{reason}: a device has its own pace")
    if devices.name and not (devices.virtual or devices.virtual_speaker):
        raise UsageError("--name is that of a virtual device: add --virtual or --virtual-speaker")
    if files.from_ is not None and devices.virtual_speaker:
        raise UsageError("--from and --virtual-speaker are two sources: name one of them")

    taken = [file_name(path) for path in (files.from_, files.to) if path is not None]
    if len(set(taken)) < len(taken):
        reason = "--to is the file of --from, of which a session that is stopped leaves a part"
        raise UsageError(f"{reason}: name another output")
    if files.record is not None and file_name(files.record) in taken:
        reason = f"--record {files.record} is the file of --from or --to"
        raise UsageError(f"{reason}: name another recording")


def _run(running: "Running", threads: int, display: Display, paced: bool) -> None:
    """Run the session to its end, with a high priority where it has to keep pace and the machine is
    fast enough."""
    from qse.live.control import controlled
    from qse.live.priority import steady
    from qse.live.speed_check import advice

    from .follow import follow

    warning = None
    if paced:
        with steady():  # at the priority of the session, or a busy machine counts as a slow one
            warning = advice(running.session.engine, threads)
    with libraries_silenced(), steady(urgent=paced and warning is None):
        if warning:
            say(f"qse: {warning}")
        try:
            with controlled(running.session):
                follow(running, display)
        finally:
            running.session.close()
