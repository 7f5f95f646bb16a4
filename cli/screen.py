"""Show the state of a live session: a screen on a terminal, one line a second elsewhere, a summary
at the end."""

import os
import sys
from textwrap import fill
from typing import TYPE_CHECKING

from qse.printable import printable

from .controls import HELP
from .session_state import state

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from qse.live.session import LiveSession

    from .running import Running

WIDEST = 120  # columns of the screen at most
NARROW = 72  # columns below which a device's name gets a line of its own
FRAME = 4  # columns of the frame and its padding
OTHERS = 16  # lines of the screen at most, beside those of the state
URGENT = ("listeners",)  # shown in red: others hear what they should not
ERROR = "<3>"  # begins a line that the journal shows as an error
# shown in yellow
ALARMS = (
    "input",
    "microphone",
    "virtual",
    "dropouts",
    "mute",
    "bypass",
    "driver",
    "model",
    "device",
    "not recorded",
)


class Plain:
    """Print a line every second, or every so many, and at changes, to standard output."""

    def __init__(self, running: "Running", every: int = 1):
        """`every`: seconds between two lines without a change."""
        self._running = running
        self._every = every
        self._next = 1.0  # seconds since the start: not before it
        self._due = 1.0  # without a change not before it
        self._named: list[str] = []  # names in the last line

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
        lines = list(state(self._running))
        named = [name for name, _ in lines]
        if named == self._named and seconds < self._due:
            return
        self._named = named
        self._due = int(seconds) + float(self._every)
        now = self._running.session
        levels = f"in {now.noisy.dbfs:.1f} dBFS, out {now.enhanced.dbfs:.1f} dBFS"
        speech = "speech" if now.speech.heard else "no speech"
        words = [_clock(seconds), levels, f"removed {_removed(now)}", speech]
        words += [f"{name} {text}" for name, text in lines]
        in_journal = "JOURNAL_STREAM" in os.environ  # of a service
        urgent = in_journal and any(name in URGENT for name in named)
        try:
            print((ERROR if urgent else "") + ", ".join(words), flush=True)
        except BrokenPipeError:
            raise
        except OSError:  # a log on a full disk does not end the session
            pass


class Screen:
    """Draw a screen as wide as the terminal, up to WIDEST columns, ten times a second."""

    def __init__(self, running: "Running"):
        from rich.console import Console

        self._running = running
        self._console = Console(markup=False, highlight=False)  # names may hold brackets

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
        width, height = self._console.size
        self._live.update(panel(self._running, seconds, min(WIDEST, width), height), refresh=True)


def panel(running: "Running", seconds: float, width: int, height: int) -> "Panel":
    """Return the screen of `width` columns, `seconds` after the start.

    Of the state, what matters least is left out until the screen has at most `height` lines.
    """
    from rich.console import Console

    lines = list(state(running))
    screen = _panel(running, lines, seconds, width)
    if OTHERS + sum(1 + 2 * len(text) // width for _, text in lines) <= height:
        return screen  # without the time that it takes to measure it

    console = Console(width=width, markup=False, highlight=False)
    while len(lines) > 1 and len(console.render_lines(screen)) > height:
        lines.pop()
        screen = _panel(running, lines, seconds, width)
    return screen


def _panel(running: "Running", lines: list[tuple[str, str]], seconds: float, width: int) -> "Panel":
    """Return the screen with these lines of the state."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    now = running.session
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    _add_device(table, "input", now.noisy.dbfs, now.source.name, width)
    for name in [speaker.name for speaker in now.speakers] or [""]:
        _add_device(table, "output", now.enhanced.dbfs, name, width)
    table.add_row("removed", _removed(now))
    heard = now.speech.heard
    lamp, dark = "●·" if _is_unicode() else "*-"
    table.add_row("speech", f"{lamp} heard" if heard else dark, style="" if heard else "dim")
    for name, text in lines:
        table.add_row(name, text, style=_style(name, text))
    table.add_row("", "")
    for number, line in enumerate(_filled(HELP, width - FRAME - len("not recorded") - 2)):
        table.add_row("" if number else "keys", line, style="dim")
    title = f"qse live: {now.engine.name} {now.engine.version}, {_clock(seconds)}"
    return Panel(table, title=Text(printable(title)), width=width)


def summary(running: "Running", seconds: float, width: int | None = None) -> str:
    """Return the report at the end of a session that took `seconds`, wrapped to `width` columns if
    given."""
    session = running.session
    meter = session.meter
    audio = f"{meter.samples / meter.sample_rate:.1f} s of audio in {seconds:.1f} s"
    times = f"RTF {meter.rtf:.3f}, longest block {1000 * meter.longest:.2f} ms"
    lines = [printable(f"{session.engine.name}: {audio}, {times}")]
    lines += [f"{name}: {text}" for name, text in state(running)]
    if width:
        lines = [
            fill(line, width, subsequent_indent="    ", break_on_hyphens=False) for line in lines
        ]
    return "\n".join(lines)


def _style(name: str, text: str) -> str:
    """Return the colour of a line of the state."""
    if name in URGENT:
        return "bold red"
    return "yellow" if name in ALARMS and text != "0" else ""


def _removed(session: "LiveSession") -> str:
    """Return by how much the level is lowered, or why it says nothing about the model."""
    if session.muted:
        return "everything (mute)"
    if session.bypass:
        return "nothing (bypass)"
    decibels = round(session.noisy.dbfs - session.enhanced.dbfs, 1) + 0.0  # no minus before a zero
    return f"{decibels:.1f} dB"


def _add_device(table: "Table", label: str, dbfs: float, name: str, width: int) -> None:
    """Add the level of a device and its name: beside the level, or below where the screen is
    narrow."""
    length = max(8, min(24, width // 3))
    if width >= NARROW:
        meter = _meter(dbfs, length)
        meter.append(f"  {printable(name)}")
        table.add_row(label, meter)
        return
    table.add_row(label, _meter(dbfs, length))
    table.add_row("", printable(name))


def _meter(dbfs: float, length: int) -> "Text":
    """Return a level meter from -60 to 0 dBFS, `length` columns long, and the level."""
    from rich.text import Text

    lit = round(length * min(1.0, max(0.0, 1 + dbfs / 60)))
    colour = "red" if dbfs > -3 else "yellow" if dbfs > -9 else "green"
    full, empty = "█·" if _is_unicode() else "#-"
    bar = ((full * lit, colour), (empty * (length - lit), "dim"))
    return Text.assemble(*bar, f" {dbfs:6.1f} dBFS")


def _is_unicode() -> bool:
    """Return whether standard output can print more than the signs of its language."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def _filled(words: tuple[str, ...], width: int) -> list[str]:
    """Return lines of at most `width` columns, which do not divide any of the `words`."""
    lines = [words[0]]
    for word in words[1:]:
        longer = f"{lines[-1]}   {word}"
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _clock(seconds: float) -> str:
    count = int(seconds)
    return f"{count // 3600:02}:{count // 60 % 60:02}:{count % 60:02}"
