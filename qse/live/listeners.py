"""Keep the programs that listen to a virtual microphone on it.

A sound server moves recordings by itself. Where the only microphone vanishes, the virtual one
becomes the default source; when the microphone returns, the server moves all recordings of the
former default source with it, so a meeting would hear the raw microphone. A recording that the
server took away within WITHIN seconds of a change of its sources or of its default source is moved
back, once for each change. Both servers hold it there: they treat the move as a user's. A recording
that leaves at another time, or again, was moved by a user and stays where it is. So does one that
came to the virtual microphone only because its own microphone had vanished.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from .pulse_server import PulseError, defaults, listed, names, pactl
from .pulse_stream import CLIENT

WITHIN = 5.0  # seconds after a change of the sources in which the server moves recordings
# seconds after which the server is asked again to move one back; PipeWire's session manager
# (WirePlumber 0.4.13) ignores some requests
AGAIN = 0.3
YOUNG = 1.0  # seconds in which a new recording may appear elsewhere before it is where it wants
SETTLED = 2.0  # seconds after a request in which the server may undo it
TELL = 2.0  # seconds that a recording may be away before it is said
RETURN = 30.0  # seconds after a restart of the server in which programs connect again


@dataclass
class _Recording:
    """A recording of another program. `place`: the name of its source. `corked`: it pauses.

    born: when it was seen first. chosen: a program or user wants it at the virtual microphone.
    taken: when the server took it away, while it is not back. asked: when it was to be moved back.
    returned: the change for which it was moved back, by its time.
    """

    program: str
    process: str
    born: float
    place: str = ""
    corked: bool = False
    chosen: bool = False
    taken: float | None = None
    asked: float = -inf
    returned: float = -inf


@dataclass
class _Server:
    """The sources of the server, names by their indexes, its default devices and its identity."""

    sources: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)

    @property
    def situation(self) -> tuple[set[str], str]:
        """Return what makes the server move recordings when it changes."""
        return set(self.sources.values()), self.defaults.get("source", "")


class Listeners:
    """The recordings of other programs, in so far as they concern a virtual microphone.

    heard: whether one records from it or was taken away from it, or the server has lost it.
    """

    def __init__(self, source: str):
        """`source`: the server's name of the virtual microphone."""
        self.heard = True
        self._source = source
        self._server = _Server()
        self._recordings: dict[str, _Recording] = {}  # by the server's index
        self._changed = -inf  # when sources or the default source changed last
        self._restarted = -inf  # when the server was another one before
        self._returning: set[str] = set()  # processes that listened before the restart
        self._fetched: set[str] = set()  # indexes of recordings from a former virtual microphone

    @property
    def message(self) -> str:
        """Which programs hear another microphone, and what to do; empty if none does."""
        programs = set()
        for entry in self._recordings.values():
            if entry.taken is not None and monotonic() - entry.taken > TELL:
                programs.add(entry.program)
        if not programs:
            return ""
        fault = f"{' and '.join(sorted(programs))} now records another, noisy microphone"
        return f"{fault}: choose the virtual microphone there again"

    def look(self, everything: bool = True) -> None:
        """Ask the server who records what, and move back what it took away.

        Without `everything` its sources are listed only where a recording has moved. Raises
        PulseError.
        """
        streams = listed("source-outputs")  # before the sources: what moved a stream is older
        if everything or self._has_moved(streams):
            self._survey()
        self._note(streams)
        for index, entry in self._recordings.items():
            if entry.taken is not None:
                self._return(index, entry)
        self.heard = self._source not in self._server.sources.values() or self._is_recorded()

    @property
    def away(self) -> bool:
        """Return whether a recording is to be moved back: `look` again soon."""
        return any(entry.taken is not None for entry in self._recordings.values())

    @property
    def default_sink(self) -> str:
        """The server's default sink when its sources were listed last."""
        return self._server.defaults.get("sink", "")

    def _is_recorded(self) -> bool:
        for entry in self._recordings.values():
            if entry.taken is not None or (entry.place == self._source and not entry.corked):
                return True
        return False

    def present(self) -> list[str]:
        """Return the indexes of the recordings from the virtual microphone now."""
        self._survey()
        found = []
        for stream in listed("source-outputs"):
            if self._place(stream) == self._source and not _is_own(stream):
                found.append(stream["index"])
        return found

    def fetch(self, indexes: Iterable[str]) -> None:
        """Move recordings to the virtual microphone, as far as they are still there; `look` asks
        again where the server ignores it."""
        self._fetched = set(indexes)
        for index in self._fetched:
            with suppress(PulseError):
                pactl("move-source-output", index, self._source)

    def _survey(self) -> None:
        """Note the present sources, and when they or the default source have changed."""
        before = self._server
        self._server = _Server(names("sources"), defaults())
        if not before.sources:
            return
        if before.defaults.get("cookie") != self._server.defaults.get("cookie"):
            self._restart()
        if before.situation != self._server.situation:
            self._changed = monotonic()

    def _restart(self) -> None:
        """Forget what another server said, but for the processes that listened."""
        self._restarted = monotonic()
        entries = self._recordings.values()
        self._returning = {entry.process for entry in entries if entry.chosen and entry.process}
        self._recordings = {}
        self._fetched = set()

    def _has_moved(self, streams: list[dict[str, str]]) -> bool:
        for stream in streams:
            known = self._recordings.get(stream["index"])
            if self._place(stream) != (known.place if known else self._source):
                return True
        return False

    def _place(self, stream: dict[str, str]) -> str:
        return self._server.sources.get(stream.get("Source", ""), "")

    def _note(self, streams: list[dict[str, str]]) -> None:
        """Note where the recordings are, and which of them the server took away."""
        former = self._recordings
        self._recordings = {}
        for stream in streams:
            if _is_own(stream):
                continue
            index = stream["index"]
            entry = former.get(index)
            place = self._place(stream)
            if entry is None:
                entry = self._new(stream, place)
            elif place not in (entry.place, ""):
                self._move(entry, place)
            entry.place = place or entry.place
            entry.corked = stream.get("Corked") == "yes"
            self._recordings[index] = entry

    def _new(self, stream: dict[str, str], place: str) -> _Recording:
        program = stream.get("application.name") or stream.get("media.name", "a program")
        entry = _Recording(program, stream.get("application.process.id", ""), monotonic())
        returning = monotonic() - self._restarted < RETURN and entry.process in self._returning
        returning = returning or stream["index"] in self._fetched
        entry.chosen = place == self._source or returning
        entry.taken = monotonic() if returning and place != self._source else None
        return entry

    def _move(self, entry: _Recording, place: str) -> None:
        """Take note of a recording that moved from its place to another one."""
        by_server = monotonic() - self._changed < WITHIN
        undone = monotonic() - entry.asked < SETTLED
        if place == self._source:
            is_new = monotonic() - entry.born < YOUNG
            entry.chosen = entry.chosen or is_new or not by_server
            if entry.taken is not None:
                entry.returned = self._changed
            entry.taken = None
        elif entry.chosen and by_server and (undone or entry.returned != self._changed):
            entry.taken = entry.taken or monotonic()
        else:
            entry.chosen = False
            entry.taken = None

    def _return(self, index: str, entry: _Recording) -> None:
        """Ask the server to move a recording back; it does so some time later, or refuses."""
        if monotonic() - entry.asked < AGAIN:
            return
        entry.asked = monotonic()
        with suppress(PulseError):
            pactl("move-source-output", index, self._source)


def _is_own(stream: dict[str, str]) -> bool:
    """Return whether a recording is that of a qse, which the server may have moved."""
    return stream.get("application.name") == CLIENT
