"""Move recordings back to the virtual microphone that the server took away, and leave alone what a
user moved: with a server made of nothing, whose clock a test sets."""

import pytest

from qse.live import listeners
from qse.live.listeners import AGAIN, RETURN, SETTLED, TELL, WITHIN, Listeners
from qse.live.pulse_server import PulseError

VIRTUAL = "qse_microphone"


class Server:
    """A sound server that moves all recordings of the former default source to a new one, unless a
    user's choice holds them."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        self.cookie = "a"
        self.sources = {"1": "desk_mic", "7": VIRTUAL}
        self.default = "desk_mic"
        self.streams = {}
        self.held = set()
        self.refuses = 0
        monkeypatch.setattr(listeners, "monotonic", lambda: self.now)
        monkeypatch.setattr(listeners, "pactl", self.pactl)
        monkeypatch.setattr(
            listeners, "listed", lambda kind: list(map(dict, self.streams.values()))
        )
        monkeypatch.setattr(listeners, "names", lambda kind: dict(self.sources))
        monkeypatch.setattr(listeners, "defaults", self.defaults)

    def defaults(self):
        return {"source": self.default, "sink": "desk", "cookie": self.cookie}

    def pactl(self, command, *arguments):
        assert command == "move-source-output"
        if self.refuses:
            self.refuses -= 1
            raise PulseError("refused")
        self.held.add(arguments[0])
        self.move(*arguments)
        return ""

    def record(self, index, source, program="Meeting", process="42"):
        names = {"application.name": program, "application.process.id": process}
        self.streams[index] = {"index": index, "Corked": "no", **names}
        self.move(index, source)

    def move(self, index, source):
        number = next(number for number, name in self.sources.items() if name == source)
        self.streams[index]["Source"] = number

    def place(self, index):
        return self.sources[self.streams[index]["Source"]]

    def unplug(self, default=VIRTUAL):
        """Remove the microphone: what recorded from it goes to the new default source."""
        self.default = default
        for index in self.streams:
            if self.place(index) == "desk_mic":
                self.move(index, default)
        self.sources = {n: name for n, name in self.sources.items() if name != "desk_mic"}

    def plug(self):
        """Let the microphone return as the default source."""
        former = self.default
        self.default = "desk_mic"
        self.sources[str(100 + len(self.held))] = "desk_mic"
        for index in self.streams:
            if self.place(index) == former and index not in self.held:
                self.move(index, "desk_mic")


@pytest.fixture
def server(monkeypatch):
    return Server(monkeypatch)


@pytest.fixture
def watched(server):
    found = Listeners(VIRTUAL)
    found.look()
    return found


def settle(server, watched):
    for _ in range(2):
        watched.look(everything=False)
        server.now += 2 * WITHIN
        watched.look()


def test_listeners_come_back_after_two_returns_of_the_only_microphone(server, watched):
    server.record("3", VIRTUAL)
    server.record("4", VIRTUAL, "Recorder")
    settle(server, watched)
    for _ in range(2):
        server.unplug()
        settle(server, watched)
        server.plug()
        watched.look(everything=False)
        assert server.place("3") == server.place("4") == VIRTUAL and watched.heard
        settle(server, watched)
    assert server.place("3") == server.place("4") == VIRTUAL and not watched.message


def test_a_move_of_the_user_stays(server, watched):
    server.record("3", VIRTUAL)
    settle(server, watched)
    server.move("3", "desk_mic")
    settle(server, watched)
    assert server.place("3") == "desk_mic" and not watched.heard and not watched.message


def test_a_second_move_of_the_user_stays_also_at_once(server, watched):
    server.record("3", VIRTUAL)
    settle(server, watched)
    server.sources["9"] = "headset"
    server.move("3", "desk_mic")
    watched.look()
    watched.look()
    assert server.place("3") == VIRTUAL
    server.now += 1.1 * SETTLED
    server.move("3", "desk_mic")
    watched.look()
    assert server.place("3") == "desk_mic" and not watched.away


def test_a_recording_whose_own_microphone_had_vanished_returns_to_it(server, watched):
    server.record("3", "desk_mic")
    settle(server, watched)
    server.unplug()
    settle(server, watched)
    assert server.place("3") == VIRTUAL and watched.heard
    server.plug()
    settle(server, watched)
    assert server.place("3") == "desk_mic" and not watched.heard


def test_a_recording_that_begins_elsewhere_for_a_moment_is_a_listener(server, watched):
    """PipeWire shows a new one on the default source first."""
    server.sources["9"] = "headset"
    server.record("3", "desk_mic")
    watched.look()
    server.now += 0.1
    server.move("3", VIRTUAL)
    settle(server, watched)
    server.unplug()
    settle(server, watched)
    server.plug()
    settle(server, watched)
    assert server.place("3") == VIRTUAL


def test_what_the_server_refuses_is_said_and_tried_again(server, watched):
    server.record("3", VIRTUAL)
    settle(server, watched)
    server.unplug()
    settle(server, watched)
    server.refuses = 2
    server.plug()
    watched.look()
    assert watched.away and watched.heard and not watched.message  # it may take a moment
    server.now += TELL + AGAIN
    watched.look()
    assert watched.message.startswith("Meeting now records another, noisy microphone")
    assert watched.heard
    server.now += 2 * AGAIN
    watched.look()
    watched.look()
    assert server.place("3") == VIRTUAL and not watched.away and not watched.message


def test_listeners_of_a_crashed_process_are_moved_also_where_the_server_ignores_it(server, watched):
    server.record("3", "desk_mic")
    server.refuses = 2
    watched.fetch(["3"])
    watched.look()
    assert server.place("3") == "desk_mic" and watched.away
    server.now += 2 * AGAIN
    watched.look()
    watched.look()
    assert server.place("3") == VIRTUAL and not watched.away


def test_a_program_that_connects_again_after_a_restart_of_the_server_is_moved(server, watched):
    server.record("3", VIRTUAL)
    server.record("4", "desk_mic", "Radio", "43")
    settle(server, watched)
    server.cookie = "b"
    server.streams.clear()
    watched.look()
    server.now += RETURN / 2
    server.record("3", "desk_mic", "Radio", "43")  # the numbers begin anew
    server.record("4", "desk_mic")
    watched.look()
    assert server.place("3") == "desk_mic" and server.place("4") == VIRTUAL


def test_own_and_pausing_recordings_are_no_listeners(server, watched):
    server.record("3", VIRTUAL, "qse")
    watched.look()
    assert not watched.heard
    server.record("4", VIRTUAL)
    server.streams["4"]["Corked"] = "yes"
    watched.look()
    assert not watched.heard
    del server.sources["7"]
    watched.look()
    assert watched.heard  # the server has lost it
