"""What qse live shows while it runs: one screen on a terminal, one line a second elsewhere, a summary at the end."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

TICK = 0.1
KEYS = "b: noisy or enhanced   Ctrl-C: quit"


def follow(session, worker, watch, plain: bool = False) -> None:
    """Start `session` and `worker`, show how they are doing until they end or Ctrl-C comes; let them end in good order.

    Raises what ended the worker or the watch, if it was an error.
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

    wanted = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, end) for number in wanted}
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
        parts = [
            _clock(seconds),
            f"in {now.noisy.dbfs:.1f} dBFS out {now.enhanced.dbfs:.1f} dBFS removed {_removed(now):.1f} dB",
            f"RTF {_rtf(now, 0.5):.3f} p99 {_rtf(now, 0.99):.3f}",
            f"latency {_latency(now)}",
            f"dropouts {_dropouts(now)}",
        ]
        print(", ".join([*parts, *_notes(now, self._watch)]), flush=True)


class Screen:
    """One screen, drawn again ten times a second."""

    def __init__(self, session, watch):
        from rich.live import Live

        self._session, self._watch = session, watch
        self._live = Live(auto_refresh=False, transient=True)

    def __enter__(self) -> "Screen":
        self._live.start()
        return self

    def __exit__(self, *_) -> None:
        self._live.stop()

    def show(self, seconds: float) -> None:
        """Draw the screen."""
        self._live.update(self._table(seconds), refresh=True)

    def _table(self, seconds: float):
        from rich.panel import Panel
        from rich.table import Table

        now = self._session
        median, p99 = (1000 * now.meter.quantile(share) for share in (0.5, 0.99))
        table = Table.grid(padding=(0, 2))
        table.add_row("input", _bar(now.noisy.dbfs) + _name(now.source))
        for speaker in now.speakers or (None,):
            table.add_row("output", _bar(now.enhanced.dbfs) + _name(speaker))
        table.add_row("removed", f"{_removed(now):.1f} dB" + "   bypass: this is the noisy signal" * now.bypass)
        table.add_row("RTF", f"median {_rtf(now, 0.5):.3f}, p99 {_rtf(now, 0.99):.3f}")
        table.add_row("block", f"median {median:.2f} ms, p99 {p99:.2f} ms, of {_block(now):.1f} ms")
        table.add_row("latency", _latency(now))
        table.add_row("dropouts", _dropouts(now))
        for note in _notes(now, self._watch):
            table.add_row("", note)
        title = f"qse live: {now.engine.name} {now.engine.version}, {_clock(seconds)}"
        return Panel(table, title=title, subtitle=KEYS, expand=False)


def summary(session, watch, seconds: float) -> str:
    """What there is to say at the end."""
    meter = session.meter
    times = "median {:.2f} ms, p99 {:.2f} ms, longest {:.2f} ms".format(
        *(1000 * time for time in (meter.quantile(0.5), meter.quantile(0.99), meter.longest))
    )
    audio = meter.samples / meter.sample_rate
    lines = [
        f"{session.engine.name}: {audio:.1f} s of audio in {seconds:.1f} s, RTF {meter.rtf:.3f}",
        f"blocks of {_block(session):.1f} ms: {times}",
        f"latency: {_latency(session)}",
        f"dropouts: {_dropouts(session)}",
    ]
    return "\n".join([*lines, *_notes(session, watch)])


def _notes(session, watch) -> list[str]:
    """What does not happen every day."""
    notes = [f"clock {1e6 * speaker.drift:+.0f} ppm" for speaker in session.speakers]
    if session.source.bad:
        notes.append(f"{session.source.bad} blocks held samples that were no numbers: silent there")
    if session.resets:
        notes.append(f"model started anew {session.resets} times")
    if session.recorder:
        notes.append(_recording(session.recorder, session.engine.sample_rate))
    if watch.losses:
        notes.append(watch.message or f"{watch.losses} times a device was gone and came back")
    return notes


def _recording(recorder, sample_rate: int) -> str:
    lost = f", {recorder.lost / sample_rate:.1f} s lost to a slow disk" if recorder.lost else ""
    return recorder.error or f"recording {recorder.path}{lost}"


def _latency(session) -> str:
    latency = session.latency
    names = ("device_in", "blocks", "model", "device_out")
    parts = (f"{name.replace('_', ' ')} {1000 * getattr(latency, name):.1f}" for name in names)
    return f"{1000 * latency.total:.1f} ms ({', '.join(parts)})"


def _dropouts(session) -> str:
    reasons = "; ".join(f"{reason}: {count}" for reason, count in session.reasons.items())
    return f"{session.dropouts} ({reasons})" if reasons else "0"


def _rtf(session, share: float) -> float:
    return session.meter.quantile(share) * session.source.sample_rate / session.source.blocksize


def _block(session) -> float:
    return 1000 * session.source.blocksize / session.source.sample_rate


def _removed(session) -> float:
    return round(session.noisy.dbfs - session.enhanced.dbfs, 1) + 0.0  # no minus before a zero


def _bar(dbfs: float, width: int = 24) -> str:
    """A meter from -60 to 0 dBFS."""
    lit = round(width * min(1.0, max(0.0, 1 + dbfs / 60)))
    return f"{'█' * lit}{'·' * (width - lit)} {dbfs:6.1f} dBFS  "


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

    number, before = sys.stdin.fileno(), termios.tcgetattr(sys.stdin)
    tty.setcbreak(number)
    try:
        yield lambda: os.read(number, 1).decode(errors="ignore") if select([number], [], [], 0)[0] else None
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
