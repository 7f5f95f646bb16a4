"""Follow the changes of a sound server by the program pactl."""

import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread

from .pulse_server import NoServer, PulseError, in_english

RETRY = 1.0  # seconds before a server that went is asked again
EVERY = 5.0  # seconds between calls without a change
CHANGE = re.compile(r"Event '\w+' on (\S+) #")


class PulseWatch:
    """Call a function in a thread when devices or streams of the server have changed.

    It gets the kind of the object that changed, as pactl names it ("source-output", "sink",
    "server"), and "server" when the server begins to answer. It gets "server" every few seconds as
    well: PipeWire 0.3.65 does not report each change of a default device when several follow each
    other.
    """

    def __init__(self, kinds: set[str], changed: Callable[[str], object]):
        """`kinds`: those of which the function is called."""
        self._kinds = kinds
        self._changed = changed
        self._closing = Event()
        self._process: subprocess.Popen | None = None
        self._turn = Lock()  # to call the function
        self._threads = [
            Thread(target=self._run, name="qse watch", daemon=True),
            Thread(target=self._repeat, name="qse watch again", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def look(self, kind: str) -> None:
        """Call the function, also where nothing has changed."""
        with self._turn, suppress(PulseError, NoServer):  # the server has gone
            if not self._closing.is_set():
                self._changed(kind)

    def close(self) -> None:
        """End the threads and the program; the function is not called any more."""
        self._closing.set()
        if self._process:
            self._process.kill()
        for thread in self._threads:
            thread.join(RETRY)

    def _run(self) -> None:
        while not self._closing.is_set():
            with suppress(OSError):  # of a program that is missing
                self._follow()
            self._closing.wait(RETRY)

    def _repeat(self) -> None:
        while not self._closing.wait(EVERY):
            self.look("server")

    def _follow(self) -> None:
        """Report changes until the server or the program ends."""
        self._process = subprocess.Popen(
            ["pactl", "subscribe"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=in_english(),
            text=True,
        )
        with self._process as process:
            assert process.stdout
            self.look("server")
            for line in process.stdout:
                change = CHANGE.match(line)
                if change and change[1] in self._kinds:
                    self.look(change[1])
