"""Run a live session from its start to its end: keys, signals, devices that vanish, and the
screen."""

import os
import sys
from shutil import get_terminal_size
from time import monotonic, sleep
from typing import TYPE_CHECKING

from qse.errors import QseError
from qse.stop_signals import collected

from .controls import HELP
from .screen import Plain, Screen, summary
from .streams import abandon_stdout, say
from .terminal import Keys, Pauses

if TYPE_CHECKING:
    from .live_options import Display
    from .running import Running

TICK = 0.1


def follow(running: "Running", display: "Display") -> None:
    """Start a session and its worker, show their state and obey keys until they end or Ctrl-C
    comes; let them finish.

    Raises the error that ended the worker or the reconnector, and QseError for a recording that
    ended early.
    """
    session = running.session
    worker = running.worker
    drawable = sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
    is_drawn = drawable and not display.plain
    view = Screen(running) if is_drawn else Plain(running, display.every)
    with collected(_interrupt) as signals, view:
        view.show(0.0)  # load what this needs before the sound begins
        running.start()
        begin = monotonic()
        worker.start()
        try:
            _attend(running, view, signals)
        except BrokenPipeError:  # the program that read the lines has ended
            abandon_stdout()
            if worker.writes and not session.source.is_live:
                _attend(running, view, signals)
        finally:
            running.close()
            session.stop()
            worker.join()
            session.record(None)

    if worker.error is not None:
        raise worker.error
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    try:
        print(summary(running, monotonic() - begin, width), flush=True)
    except OSError:
        abandon_stdout()
    for warning in (*running.worker.warnings, session.source.damage):
        if warning:
            say(f"qse: warning: {warning}")
    for recorder in session.recorded:
        if recorder.error:
            raise QseError(recorder.error)


def _attend(running: "Running", view: Plain | Screen, signals: list[int]) -> None:
    """Handle keys, pauses and devices and show the view until the worker is done and everything is
    played."""
    session = running.session
    begin = monotonic()
    with Keys() as keys, Pauses().watched() as pauses:
        if keys.listening and isinstance(view, Plain):
            say("keys: " + "   ".join(HELP))
        while running.worker.is_alive():
            if signals:
                session.stop()
            if pauses.asked:
                view.suspend()
                keys.end()
                running.sleep(pauses.stop)
            seconds = pauses.ended()
            if seconds is not None:
                keys.begin()
                session.resume(seconds)
                view.restart()
            running.controls.press(keys.read())
            running.look()
            view.show(monotonic() - begin)
            running.worker.join(TICK)

    deadline = monotonic() + 3
    while monotonic() < deadline and not all(speaker.done for speaker in session.speakers):
        sleep(TICK)
    sleep(max((speaker.latency for speaker in session.speakers), default=0.0))


def _interrupt(number: int) -> None:
    raise KeyboardInterrupt
