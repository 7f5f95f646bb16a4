"""Show the state of a live session: a screen on a terminal, one line a second elsewhere, a summary at the end."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .controls import HELP, Controls

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.text import Text

    from qse.live.reconnect import Reconnector
    from qse.live.recorder import Recorder
    from qse.live.session import Latency, LiveSession

WIDTH, BAR = 80, 24
ALARMS = (
    "input",
    "microphone",
    "dropouts",
    "mute",
    "bypass",
    "driver",
    "model",
    "device",
    "not recorded",
)  # shown in yellow


class Plain:
    """Print one line a second to standard output."""

    def __init__(self, session: "LiveSession", reconnector: "Reconnector", controls: Controls):
        self._session, self._sources, self._next = session, (session, reconnector, controls), 1.0

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def suspend(self) -> None:
        """Do nothing: printed lines need no preparation for a pause of the process."""

    def restart(self) -> None:
        """Do nothing after a pause of the process."""

    def show(self, seconds: float) -> None:
        """Print a line with levels and state, at most once a second; `seconds` since the start."""
        if seconds < self._next:
            return
        self._next = max(self._next + 1, int(seconds) + 1.0)
        now = self._session
        levels = f"in {now.noisy.dbfs:.1f} dBFS, out {now.enhanced.dbfs:.1f} dBFS, removed {_removed(now):.1f} dB"
        levels += ", speech" if now.speech.heard else ", no speech"
        state = (f"{name} {text}" for name, text in _state(*self._sources))
        try:
            print(", ".join([_clock(seconds), levels, *state]), flush=True)
        except BrokenPipeError:
            raise
        except OSError:  # a log on a full disk does not end the session
            pass


class Screen:
    """Draw a screen of 80 columns, ten times a second."""

    def __init__(self, session: "LiveSession", reconnector: "Reconnector", controls: Controls):
        from rich.console import Console

        self._session, self._sources = session, (session, reconnector, controls)
        self._console = Console(markup=False)  # names of devices may hold brackets

    def __enter__(self) -> "Screen":
        self.restart()
        return self

    def __exit__(self, *_: object) -> None:
        self.suspend()

    def suspend(self) -> None:
        """Remove the screen from the terminal."""
        self._live.stop()

    def restart(self) -> None:
        """Draw the screen again, below what other programs printed during a pause."""
        from rich.live import Live

        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, seconds: float) -> None:
        """Draw the screen."""
        self._live.update(self._panel(seconds), refresh=True)

    def _panel(self, seconds: float) -> "Panel":
        from rich.panel import Panel
        from rich.table import Table

        now = self._session
        table = Table.grid(padding=(0, 2))
        table.add_row("input", _bar(now.noisy.dbfs, now.source.name))
        for name in [speaker.name for speaker in now.speakers] or [""]:
            table.add_row("output", _bar(now.enhanced.dbfs, name))
        table.add_row("removed", f"{_removed(now):.1f} dB")
        table.add_row(
            "speech",
            "● heard" if now.speech.heard else "·",
            style="" if now.speech.heard else "dim",
        )
        for name, text in _state(*self._sources):
            table.add_row(name, text, style="yellow" if name in ALARMS and text != "0" else "")
        title = f"qse live: {now.engine.name} {now.engine.version}, {_clock(seconds)}"
        return Panel(table, title=title, subtitle=HELP, width=min(WIDTH, self._console.width))


def summary(
    session: "LiveSession", reconnector: "Reconnector", controls: Controls, seconds: float
) -> str:
    """Return the report at the end of a session that took `seconds`."""
    meter = session.meter
    audio = f"{meter.samples / meter.sample_rate:.1f} s of audio in {seconds:.1f} s, RTF {meter.rtf:.3f}"
    lines = [
        f"{session.engine.name}: {audio}, longest block {1000 * meter.longest:.2f} ms",
        *(f"{name}: {text}" for name, text in _state(session, reconnector, controls)),
    ]
    return "\n".join(lines)


def _state(
    session: "LiveSession", reconnector: "Reconnector", controls: Controls
) -> Iterator[tuple[str, str]]:
    """Yield name and text of each line about a session, other than its levels."""
    for port in session.source.devices:
        if port.monitored:
            yield (
                "input",
                f"{port.name} is no microphone: it records what is played on {port.monitored}",
            )
    if session.channels_heard:
        yield "channels", session.channels_heard
    if session.source.is_live and session.silence.message and not reconnector.message:
        yield "microphone", session.silence.message
    meter, block = session.meter, session.source.blocksize / session.source.sample_rate
    median, p99 = meter.quantile(0.5), meter.quantile(0.99)
    times = f"{1000 * median:.2f} and {1000 * p99:.2f} ms per block of {1000 * block:.1f} ms"
    yield "RTF", f"median {median / block:.3f}, p99 {p99 / block:.3f} ({times})"
    yield "latency", _latency(session.latency)
    yield "dropouts", _dropouts(session)
    for speaker in session.speakers:
        yield "clock", f"{1e6 * speaker.drift:+.0f} ppm"
    if session.pauses:
        yield "pauses", f"{session.pauses}, {session.paused:.0f} s in all"
    yield from _recordings(session, reconnector, controls)
    yield from _settings(session)
    if session.source.bad:
        yield (
            "driver",
            f"{session.source.bad} blocks held samples that were not finite; they are silent",
        )
    if session.resets:
        yield "model", f"was reset {session.resets} times, because its output was not finite"
    if reconnector.losses:
        now = reconnector.message or f"vanished and came back: {reconnector.losses}"
        heard = "" if reconnector.message else f"; heard now: {session.source.name}"
        yield "device", f"{now}, {reconnector.away:.0f} s in all{heard}"


def _settings(session: "LiveSession") -> Iterator[tuple[str, str]]:
    """Yield the lines of what keys have changed."""
    if session.strength is not None:
        yield "strength", f"the noise is lowered by at most {session.strength:g} dB"
    if session.muted:
        yield "mute", "on: outputs and recordings are silent"
    if session.bypass:
        yield "bypass", "on: this is the noisy signal"


def _recordings(
    session: "LiveSession", reconnector: "Reconnector", controls: Controls
) -> Iterator[tuple[str, str]]:
    """Yield a line for each recording that has ended, for the present one, and for one that could not begin."""
    for ended in session.recorded:
        yield _recording(ended, session.engine.sample_rate, "recorded")
    if recorder := session.recorder:
        if reconnector.message and session.source.lost and not recorder.error:  # a file goes on
            yield "not recorded", f"while a device is gone; {recorder.path}"
        else:
            yield _recording(recorder, session.engine.sample_rate, "recording")
    if controls.message:
        yield "not recorded", controls.message


def _recording(recorder: "Recorder", sample_rate: int, state: str) -> tuple[str, str]:
    if recorder.error:
        return "not recorded", recorder.error
    if recorder.lost:
        return (
            "not recorded",
            f"{recorder.lost / sample_rate:.1f} s that the disk was too slow for; {recorder.path}",
        )
    return state, str(recorder.path)


def _latency(latency: "Latency") -> str:
    names = ("device_in", "blocks", "model", "device_out")
    parts = (f"{name.replace('_', ' ')} {1000 * getattr(latency, name):.0f}" for name in names)
    return f"{1000 * latency.total:.0f} ms ({', '.join(parts)})"


def _dropouts(session: "LiveSession") -> str:
    reasons = "; ".join(f"{reason}: {count}" for reason, count in session.reasons.items())
    return f"{session.dropouts} ({reasons})" if reasons else "0"


def _removed(session: "LiveSession") -> float:
    return round(session.noisy.dbfs - session.enhanced.dbfs, 1) + 0.0  # no minus before a zero


def _bar(dbfs: float, name: str) -> "Text":
    """Return a level meter from -60 to 0 dBFS and the name of its device."""
    from rich.text import Text

    lit = round(BAR * min(1.0, max(0.0, 1 + dbfs / 60)))
    colour = "red" if dbfs > -3 else "yellow" if dbfs > -9 else "green"
    bar = ("█" * lit, colour), ("·" * (BAR - lit), "dim")
    return Text.assemble(*bar, f" {dbfs:6.1f} dBFS  {name}", no_wrap=True, overflow="ellipsis")


def _clock(seconds: float) -> str:
    count = int(seconds)
    return f"{count // 3600:02}:{count // 60 % 60:02}:{count % 60:02}"
