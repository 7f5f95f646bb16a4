"""What qse live shows while it runs: one screen on a terminal, one line a second elsewhere, a summary at the end."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

from qse.errors import QseError
from qse.signals import requests

TICK = 0.1
KEYS = "b: noisy or enhanced   Ctrl-C: quit"
WIDTH, ALARMS = 80, ("dropouts", "bypass", "driver", "model", "device", "not recorded")


def follow(session, worker, watch, plain: bool = False) -> None:
    """Start `session` and `worker`, show how they are doing until they end or Ctrl-C comes; let them end in good order.

    Raises what ended the worker or the watch, if it was an error, and QseError for a recording that broke off.
    """
    view = Plain(session, watch) if plain or not sys.stdout.isatty() else Screen(session, watch)
    with _signals() as asked, view:
        view.show(0.0)  # what must be loaded for that is loaded before the sound begins
        session.start()
        begin = monotonic()
        worker.start()
        try:
            _attend(session, worker, watch, view, asked)
        except BrokenPipeError:  # nobody reads the lines any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finally:
            watch.close()
            session.stop()
            worker.join()
            if session.recorder:
                session.recorder.close()
    if worker.error is not None:
        raise worker.error
    print(summary(session, watch, monotonic() - begin), flush=True)
    if session.recorder and session.recorder.error:
        raise QseError(session.recorder.error)


def _attend(session, worker, watch, view, asked: list[int]) -> None:
    """Until the worker is done and all is played: keys, devices, the view."""
    begin = monotonic()
    with _keys() as key:
        while worker.is_alive():
            if asked:
                session.stop()
            if key() in ("b", "B", " "):
                session.bypass = not session.bypass
            watch.look()
            view.show(monotonic() - begin)
            worker.join(TICK)
    deadline = monotonic() + 3
    while monotonic() < deadline and not all(speaker.done for speaker in session.speakers):
        sleep(TICK)
    sleep(max((speaker.latency for speaker in session.speakers), default=0.0))


@contextmanager
def _signals() -> Iterator[list[int]]:
    """What Ctrl-C and other polite requests to end have put down so far; the third is obeyed at once."""
    asked = []

    def end(number, frame) -> None:
        asked.append(number)
        if len(asked) > 2:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in requests()}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Plain:
    """A line a second on standard output."""

    def __init__(self, session, watch):
        self._session, self._watch, self._next = session, watch, 1.0

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_) -> None:
        pass

    def show(self, seconds: float) -> None:
        """Print the line, if its second has come."""
        if seconds < self._next:
            return
        self._next = max(self._next + 1, seconds)
        now = self._session
        levels = f"in {now.noisy.dbfs:.1f} dBFS, out {now.enhanced.dbfs:.1f} dBFS, removed {_removed(now):.1f} dB"
        state = (f"{name} {text}" for name, text in _state(now, self._watch))
        print(", ".join([_clock(seconds), levels, *state]), flush=True)


class Screen:
    """One screen of 80 columns, drawn again ten times a second."""

    def __init__(self, session, watch):
        from rich.console import Console
        from rich.live import Live

        self._session, self._watch = session, watch
        self._console = Console(markup=False)  # names of devices may hold brackets
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def __enter__(self) -> "Screen":
        self._live.start()
        return self

    def __exit__(self, *_) -> None:
        self._live.stop()

    def show(self, seconds: float) -> None:
        """Draw the screen."""
        self._live.update(self._panel(seconds), refresh=True)

    def _panel(self, seconds: float):
        from rich.panel import Panel
        from rich.table import Table

        now = self._session
        table = Table.grid(padding=(0, 2))
        table.add_row("input", _bar(now.noisy.dbfs, _name(now.source)))
        for speaker in now.speakers or (None,):
            table.add_row("output", _bar(now.enhanced.dbfs, _name(speaker)))
        table.add_row("removed", f"{_removed(now):.1f} dB")
        for name, text in _state(now, self._watch):
            table.add_row(name, text, style="yellow" if name in ALARMS and text != "0" else "")
        title = f"qse live: {now.engine.name} {now.engine.version}, {_clock(seconds)}"
        return Panel(table, title=title, subtitle=KEYS, width=min(WIDTH, self._console.width))


def summary(session, watch, seconds: float) -> str:
    """What there is to say at the end."""
    meter = session.meter
    audio = f"{meter.samples / meter.sample_rate:.1f} s of audio in {seconds:.1f} s, RTF {meter.rtf:.3f}"
    lines = [
        f"{session.engine.name}: {audio}, longest block {1000 * meter.longest:.2f} ms",
        *(f"{name}: {text}" for name, text in _state(session, watch)),
    ]
    return "\n".join(lines)


def _state(session, watch) -> Iterator[tuple[str, str]]:
    """What there is to say about a session beside its levels: name and text."""
    meter, block = session.meter, session.source.blocksize / session.source.sample_rate
    median, p99 = meter.quantile(0.5), meter.quantile(0.99)
    times = f"{1000 * median:.2f} and {1000 * p99:.2f} of {1000 * block:.1f} ms"
    yield "RTF", f"median {median / block:.3f}, p99 {p99 / block:.3f} ({times})"
    yield "latency", _latency(session.latency)
    yield "dropouts", _dropouts(session)
    for speaker in session.speakers:
        yield "clock", f"{1e6 * speaker.drift:+.0f} ppm"
    if session.recorder:
        yield _recording(session.recorder, session.engine.sample_rate, watch)
    if session.bypass:
        yield "bypass", "this is the noisy signal"
    if session.source.bad:
        yield "driver", f"{session.source.bad} blocks held samples that were no numbers: silent there"
    if session.resets:
        yield "model", f"started anew {session.resets} times"
    if watch.losses:
        yield "device", watch.message or f"gone and come back: {watch.losses}, {watch.away:.0f} s in all"


def _recording(recorder, sample_rate: int, watch) -> tuple[str, str]:
    if recorder.error:
        return "not recorded", recorder.error
    if recorder.lost:
        return "not recorded", f"{recorder.lost / sample_rate:.1f} s that the disk was too slow for; {recorder.path}"
    if watch.message:
        return "not recorded", f"while a device is gone; {recorder.path}"
    return "recording", str(recorder.path)


def _latency(latency) -> str:
    names = ("device_in", "blocks", "model", "device_out")
    parts = (f"{name.replace('_', ' ')} {1000 * getattr(latency, name):.0f}" for name in names)
    return f"{1000 * latency.total:.0f} ms ({', '.join(parts)})"


def _dropouts(session) -> str:
    reasons = "; ".join(f"{reason}: {count}" for reason, count in session.reasons.items())
    return f"{session.dropouts} ({reasons})" if reasons else "0"


def _removed(session) -> float:
    return round(session.noisy.dbfs - session.enhanced.dbfs, 1) + 0.0  # no minus before a zero


def _bar(dbfs: float, name: str, width: int = 24):
    """A meter from -60 to 0 dBFS, and whose it is."""
    from rich.text import Text

    lit = round(width * min(1.0, max(0.0, 1 + dbfs / 60)))
    colour = "red" if dbfs > -3 else "yellow" if dbfs > -9 else "green"
    bar = ("█" * lit, colour), ("·" * (width - lit), "dim")
    return Text.assemble(*bar, f" {dbfs:6.1f} dBFS  {name}", no_wrap=True, overflow="ellipsis")


def _name(port) -> str:
    return str(getattr(port, "device", "") or getattr(port, "path", ""))


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


@contextmanager
def _keys() -> Iterator[Callable[[], str | None]]:
    """A function that returns the key pressed since the last call, if any; the terminal is as before afterwards."""
    if not sys.stdin or not sys.stdin.isatty():
        yield lambda: None
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import msvcrt

        yield lambda: msvcrt.getwch() if msvcrt.kbhit() else None
        return
    from select import select

    number = sys.stdin.fileno()

    def ours() -> bool:
        """A job in the background that touches its terminal is stopped."""
        try:
            return os.tcgetpgrp(number) == os.getpgrp()
        except OSError:  # a terminal that controls other jobs, or none
            return True

    def key() -> str | None:
        return os.read(number, 1).decode(errors="ignore") if ours() and select([number], [], [], 0)[0] else None

    if not ours():
        yield lambda: None
        return
    before = termios.tcgetattr(number)
    tty.setcbreak(number)
    try:
        yield key
    finally:
        if ours():
            termios.tcsetattr(number, termios.TCSADRAIN, before)
