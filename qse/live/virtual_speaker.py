"""A virtual loudspeaker that other programs can choose: what they play there is cleaned and played
on a real output.

    a call, a film -> sink "qse_speaker" -> its monitor -> qse live -> headphones
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

from .own_modules import SPEAKER, OwnModules, is_own, suffixes
from .pulse_server import PulseError, listed, names
from .pulse_stream import CLIENT
from .pulse_system import PulseSystem

RATE = 48000  # Hz


class Players:
    """The programs that play on a sink; the interface of Listeners.

    heard: whether one plays, or the server has lost the sink.
    """

    away = False
    message = ""

    def __init__(self, sink: str):
        self.heard = True
        self._sink = sink

    def look(self, everything: bool = True) -> None:
        """Ask the server who plays. Raises PulseError."""
        index = next((at for at, name in names("sinks").items() if name == self._sink), None)
        players = [stream for stream in listed("sink-inputs") if _plays(stream)]
        self.heard = index is None or index in [stream.get("Sink") for stream in players]


class VirtualSpeaker:
    """A sink of the sound server, whose monitor a session records.

    input: a text that names the monitor in a list of devices. Others as in VirtualMicrophone.
    """

    is_speaker = True
    streams = "sink-input"  # the kind of the streams of `listeners`
    idle = "nobody plays on the virtual speaker, so it is closed"
    node = ""

    def __init__(self, name: str = ""):
        """`name` as in VirtualMicrophone."""
        ending, suffix = suffixes(name)
        self.sink = SPEAKER + ending
        self.label = f"qse speaker{suffix}"
        self.input = f"({self.sink}.monitor)"
        self.modules = OwnModules("speaker", {self.sink: self.label})
        self.listeners = Players(self.sink)
        self._changing = Lock()
        self._closed = False

    def create(self) -> None:
        """Create the sink unless it exists, or `close` was called."""
        with self._changing:
            if not self._closed and not self.modules.are_complete:
                self.modules.load("module-null-sink", "sink", self.sink, f"rate={RATE}")

    def close(self) -> None:
        """Remove the sink; nothing makes it again."""
        with self._changing:
            self._closed = True
            self.modules.remove()

    def check(self) -> str:
        """Return no complaint: volume and mute of this output are the user's."""
        return ""

    def is_hidden(self, name: str) -> bool:
        """Return whether a source must not be recorded, and a sink not be played on by default:
        those of qse, this one's monitor excepted. Sound on `sink` itself would return to it."""
        return is_own(name) and name != f"{self.sink}.monitor"


def _plays(stream: dict[str, str]) -> bool:
    """Return whether a stream is that of another program, and does not pause."""
    return stream.get("application.name") != CLIENT and stream.get("Corked") != "yes"


@contextmanager
def virtual_speaker(name: str = "") -> Iterator[tuple[VirtualSpeaker, PulseSystem]]:
    """Create the virtual loudspeaker, yield it and the sound system to record it; remove it at the
    end. Raises as virtual_microphone."""
    speaker = VirtualSpeaker(name)
    speaker.modules.claim()
    speaker.modules.remove()
    try:
        yield speaker, PulseSystem(hidden=speaker.is_hidden, refresh=speaker.create)
    finally:
        with suppress(PulseError):  # the server has gone, and the sink with it
            speaker.close()
