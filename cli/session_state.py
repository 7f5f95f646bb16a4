"""Describe the state of a live session in lines of a name and a text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qse.printable import printable

from .options import as_options

if TYPE_CHECKING:
    from qse.live.recorder import Recorder
    from qse.live.session import Latency, LiveSession
    from qse.live.standby import Standby

    from .running import Running


def _lines(running: "Running") -> Iterator[tuple[str, str]]:
    """Yield name and text of each line about a session, other than its levels; what matters most
    first."""
    session = running.session
    yield "dropouts", _dropouts(session)
    yield from _devices(running)
    yield from _settings(session)
    yield from _recordings(running)
    if session.source.bad:
        text = f"{session.source.bad} blocks held samples that were not finite; they are silent"
        yield "driver", text
    if session.resets:
        yield "model", f"was reset {session.resets} times, because its output was not finite"
    yield "latency", _latency(session.latency) + _told(running.standby)
    yield "RTF", _times(session)
    for speaker in session.speakers:
        yield "clock", f"{1e6 * speaker.drift:+.0f} ppm"
    if session.pauses:
        yield "pauses", f"{session.pauses}, {session.paused:.0f} s in all"


def state(running: "Running") -> Iterator[tuple[str, str]]:
    """Yield name and text of each line about a session, other than its levels, as a terminal may
    show them; what matters most comes first."""
    for name, text in _lines(running):
        yield name, printable(text)


def _devices(running: "Running") -> Iterator[tuple[str, str]]:
    """Yield the lines about devices that are gone, silent, muted, unused or no microphones."""
    session = running.session
    reconnector = running.reconnector
    standby = running.standby
    is_speaker = standby is not None and standby.device.is_speaker  # a monitor that may be silent
    for port in session.source.devices:
        if port.monitored and not is_speaker:
            what = f"it records what is played on {port.monitored}"
            yield "input", f"{port.name} is no microphone: {what}"
    if session.channels_heard:
        yield "channels", as_options(session.channels_heard)
    is_heard = session.source.is_live and not is_speaker and not reconnector.message
    if is_heard and session.silence.message:
        yield "microphone", _silence(session)
    if standby and standby.astray:
        yield "listeners", standby.astray
    if standby and standby.message:
        yield "virtual", standby.message
    if standby and standby.idle:
        yield "idle", standby.device.idle
    if reconnector.losses:
        now = reconnector.message or f"vanished and came back: {reconnector.losses}"
        heard = "" if reconnector.message else f"; heard now: {session.source.name}"
        yield "device", f"{now}, {reconnector.away:.0f} s in all{heard}"


def _silence(session: "LiveSession") -> str:
    """Return why nothing is heard; it may be that the sound is on a channel that is left out."""
    text = session.silence.message or ""
    if session.channels_heard:
        text += "; or the sound is on a channel that is not heard: --channel N takes another"
    return text


def _settings(session: "LiveSession") -> Iterator[tuple[str, str]]:
    """Yield the lines of what is kept of the sound, and of what keys have changed."""
    engine = session.engine
    if engine.keeps_one:
        kept = engine.voice.origin if engine.voice else "whoever is near"
        yield "talker", f"other voices are removed, kept is {kept}"
    if session.strength is not None:
        yield "strength", f"the noise is lowered by at most {session.strength:g} dB"
    if session.muted:
        yield "mute", "on: outputs and recordings are silent"
    if session.bypass:
        yield "bypass", "on: this is the noisy signal"


def _recordings(running: "Running") -> Iterator[tuple[str, str]]:
    """Yield a line for each recording that has ended, for the present one, and for one that could
    not begin."""
    session = running.session
    for ended in session.recorded:
        if ended.error or ended.created:
            yield _recording(ended, session.engine.sample_rate, "recorded")
        else:
            yield "not recorded", f"{ended.path}: no sound came before its end"
    recorder = session.recorder
    if recorder:
        gone = running.reconnector.message and session.source.lost  # a file goes on
        if gone and not recorder.error:
            yield "not recorded", f"while a device is gone; {recorder.path}"
        else:
            yield _recording(recorder, session.engine.sample_rate, "recording")
    if running.controls.message:
        yield "not recorded", running.controls.message


def _recording(recorder: "Recorder", sample_rate: int, state: str) -> tuple[str, str]:
    if recorder.error:
        return "not recorded", recorder.error
    if recorder.lost:
        lost = f"{recorder.lost / sample_rate:.1f} s that the disk was too slow for"
        return "not recorded", f"{lost}; {recorder.path}"
    return state, str(recorder.path)


def _latency(latency: "Latency") -> str:
    parts = {
        "device in": latency.device_in,
        "blocks": latency.blocks,
        "model": latency.model,
        "device out": latency.device_out,
    }
    listed = ", ".join(f"{name} {1000 * seconds:.0f}" for name, seconds in parts.items())
    return f"{1000 * latency.total:.0f} ms ({listed})"


def _told(standby: "Standby | None") -> str:
    """Return whether programs that record the virtual microphone know its latency."""
    if standby is None or standby.device.is_speaker:
        return ""
    known = "; the sound server tells recorders"
    return known if standby.reported.is_known else "; recorders need it as delay of the picture"


def _times(session: "LiveSession") -> str:
    meter = session.meter
    block = session.source.blocksize / session.source.sample_rate
    median = meter.quantile(0.5)
    p99 = meter.quantile(0.99)
    times = f"{1000 * median:.2f} and {1000 * p99:.2f} ms per block of {1000 * block:.1f} ms"
    return f"median {median / block:.3f}, p99 {p99 / block:.3f} ({times})"


def _dropouts(session: "LiveSession") -> str:
    reasons = "; ".join(f"{reason}: {count}" for reason, count in session.reasons.items())
    text = f"{session.dropouts} ({reasons})" if reasons else "0"
    if any(speaker.is_too_small for speaker in session.speakers):
        text += "; the buffers grow no more: a larger --buffer may help"
    return text
