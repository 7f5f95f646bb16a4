"""Read keys from a terminal, and detect pauses of the process by Ctrl-Z."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

SHORTEST = 0.5  # seconds of a pause by another program; SIGCONT also comes without one
ARROWS = {"\x1b[A": "+", "\x1bOA": "+", "\x1b[B": "-", "\x1bOB": "-"}  # up and down
# what a special key sends: of the Linux console, then of other terminals
SEQUENCE = re.compile(r"\x1b(\[\[.|\[[0-9;]*.?|O.?)?")
BEGINNING = re.compile(r"\x1b(\[\[?|\[[0-9;]+|O)?$")  # of one of which the rest is still to come


class Keys:
    """Read single keys from the terminal, without Enter.

    A context manager that restores the terminal's mode.
    """

    def __init__(self) -> None:
        self._number = sys.stdin.fileno() if sys.stdin and sys.stdin.isatty() else None
        self._before: Any = None
        self._begun = ""  # the beginning of a sequence at the end of what was read

    def __enter__(self) -> "Keys":
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self) -> None:
        """Switch the terminal to single keys, if this process is in its foreground."""
        if self._number is None or sys.platform == "win32" or not self._foreground():
            return
        import termios
        import tty

        self._before = termios.tcgetattr(self._number)
        tty.setcbreak(self._number)

    def end(self) -> None:
        """Restore the terminal's mode."""
        if self._before is not None and self._number is not None and self._foreground():
            import termios

            termios.tcsetattr(self._number, termios.TCSADRAIN, self._before)
        self._before = None

    def read(self) -> str:
        """Return the keys pressed since the last call; the arrows up and down count as + and -."""
        if self._number is None:
            return ""
        if sys.platform == "win32":
            import msvcrt

            pressed = ""
            while msvcrt.kbhit():
                key = msvcrt.getwch()
                pressed += {"H": "+", "P": "-"}.get(msvcrt.getwch(), "") if key in "\0\xe0" else key
            return pressed
        from select import select

        ready = (
            self._before is not None and self._foreground() and select([self._number], [], [], 0)[0]
        )
        if not ready:
            return ""
        pressed = self._begun + os.read(self._number, 64).decode(errors="ignore")
        cut = BEGINNING.search(pressed)
        self._begun = cut[0] if cut else ""
        complete = pressed.removesuffix(self._begun)
        return SEQUENCE.sub(lambda found: ARROWS.get(found[0], ""), complete)

    @property
    def listening(self) -> bool:
        """True if keys can be read: standard input is a terminal."""
        return self._number is not None

    def _foreground(self) -> bool:
        """Return whether this process may use the terminal: a background job that touches it is
        stopped."""
        try:
            return os.tcgetpgrp(self._number or 0) == os.getpgrp()
        except OSError:  # a terminal that controls other jobs, or none
            return True


class Pauses:
    """Detect Ctrl-Z (SIGTSTP) and the continuation after it (SIGCONT)."""

    def __init__(self) -> None:
        self.asked = False
        self._seen = monotonic()
        self._continued = False
        self._stopped = False  # by Ctrl-Z

    @contextmanager
    def watched(self) -> Iterator["Pauses"]:
        """Install the signal handlers, where the system has these signals."""
        handlers = {"SIGTSTP": self._ask, "SIGCONT": self._continue}
        before = {}
        for name, handler in handlers.items():
            if hasattr(signal, name):
                number = getattr(signal, name)
                before[number] = signal.signal(number, handler)
        try:
            yield self
        finally:
            for number, earlier in before.items():
                signal.signal(number, earlier)

    def stop(self) -> None:
        """Stop this process as Ctrl-Z does, until it is continued."""
        self.asked = False
        self._stopped = True
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)

    def ended(self) -> float | None:
        """Return the seconds that the process was stopped if it was continued since the last call,
        else None.

        Call this several times a second.
        """
        now = monotonic()
        before = self._seen
        self._seen = now
        if not self._continued:
            return None
        self._continued = False
        stopped = self._stopped or now - before >= SHORTEST
        self._stopped = False
        return now - before if stopped else None

    def _ask(self, number: int, frame: object) -> None:
        self.asked = True

    def _continue(self, number: int, frame: object) -> None:
        self._continued = True
