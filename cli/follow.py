"""A live session from its start to its end: keys, requests to end, devices that come and go, and the view of it all."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from types import FrameType
from typing import TYPE_CHECKING

from qse.errors import QseError
from qse.stop_signals import heard_by

from .screen import Plain, Screen, summary
from .streams import hush

if TYPE_CHECKING:
    from qse.live.reconnect import Reconnector, Worker
    from qse.live.session import LiveSession

TICK = 0.1


def follow(session: "LiveSession", worker: "Worker", watch: "Reconnector", plain: bool = False) -> None:
    """Start `session` and `worker`, show how they are doing until they end or Ctrl-C comes; let them end in good order.

    Raises what ended the worker or the watch, if it was an error, and QseError for a recording that broke off.
    """
    dull = plain or not sys.stdout.isatty() or os.environ.get("TERM") in ("dumb", "unknown")  # cannot draw
    view = (Plain if dull else Screen)(session, watch)
    with _asked() as asked, view:
        view.show(0.0)  # what must be loaded for that is loaded before the sound begins
        session.start()
        begin = monotonic()
        worker.start()
        try:
            _attend(session, worker, watch, view, asked)
        except BrokenPipeError:  # nobody reads the lines any more
            hush()
        finally:
            watch.close()
            session.stop()
            worker.join()
            if session.recorder:
                session.recorder.close()
    if worker.error is not None:
        raise worker.error
    try:
        print(summary(session, watch, monotonic() - begin), flush=True)
    except OSError:
        hush()
    if session.recorder and session.recorder.error:
        raise QseError(session.recorder.error)


def _attend(
    session: "LiveSession", worker: "Worker", watch: "Reconnector", view: Plain | Screen, asked: list[int]
) -> None:
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
def _asked() -> Iterator[list[int]]:
    """What Ctrl-C and other polite requests to end have put down so far; the third is obeyed at once."""
    asked: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 2:
            raise KeyboardInterrupt

    with heard_by(end):
        yield asked


@contextmanager
def _keys() -> Iterator[Callable[[], str | None]]:
    """A function that returns the key pressed since the last call, if any; the terminal is as before afterwards."""
    if not sys.stdin or not sys.stdin.isatty():
        yield lambda: None
        return
    if sys.platform == "win32":
        import msvcrt

        yield lambda: msvcrt.getwch() if msvcrt.kbhit() else None
        return
    import termios
    import tty
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
