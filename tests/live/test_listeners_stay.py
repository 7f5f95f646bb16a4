"""Programs that record from the virtual microphone stay there, on PulseAudio and PipeWire, whatever
happens to the other sources: two microphones, a suspended one, a headset that changes its profile,
a restart of the server."""

import subprocess
import time
from contextlib import contextmanager

import pytest
from pulse import PipeWire, needs_both_servers, starting
from waiting import until

pytestmark = needs_both_servers
SOURCE = ["load-module", "module-remap-source", "master=desk.monitor"]
PROCESS = "--property=application.process.id=424242"  # of a program that connects again


@pytest.fixture
def server(either_server):
    return either_server


@pytest.fixture
def live(server):
    """Start qse live --virtual with options, and wait for its sound."""
    with starting(server, virtual=True, end=subprocess.Popen.kill) as start:
        yield start


@contextmanager
def two_listeners(server):
    """Let two programs listen, and wait until what the server restores is no longer corrected."""
    with server.listening(), server.listening():
        until(lambda: both_listen(server), 30)
        lines(server, 4)
        yield


def both_listen(server):
    return server.recording().count("qse_microphone") == 2


def lines(server, count):
    """Wait for so many lines of qse, one a second."""
    before = server.said.count("\n")
    until(lambda: server.said.count("\n") > before + count, 30)


def stay(server):
    """Wait until both listeners are where they were, and check that they stay for three lines."""
    until(lambda: both_listen(server), 30)
    lines(server, 3)
    assert both_listen(server)


def default_is(server, name):
    until(lambda: f"Default Source: {name}\n" in server.pactl("info").stdout, 30)


def test_the_default_one_of_two_microphones_is_unplugged_twice(server, live):
    """PulseAudio moves the recording of qse back, PipeWire leaves it until it is opened again."""
    server.pactl(*SOURCE, "source_name=other_mic")
    server.pactl("set-default-source", "desk_mic")
    live()
    with two_listeners(server):
        for _ in range(2):
            server.unload("source_name=desk_mic")
            default_is(server, "other_mic")
            until(lambda: server.recorded() == ["other_mic"], 30)
            server.pactl(*SOURCE, "source_name=desk_mic")
            default_is(server, "desk_mic")
            stay(server)
            kept = "other_mic" if isinstance(server, PipeWire) else "desk_mic"
            until(lambda kept=kept: server.recorded() == [kept], 30)
    until(lambda: server.recorded() == [], 30)
    with server.listening():
        until(lambda: server.recorded() == ["desk_mic"], 30)


@pytest.mark.parametrize("name", ["desk_mic", "qse_microphone"])
def test_a_suspended_source_is_shown_and_comes_back(server, live, name):
    live()
    with two_listeners(server):
        server.pactl("suspend-source", name, "1")
        lines(server, 3)
        assert both_listen(server)
        server.pactl("suspend-source", name, "0")
        lines(server, 3)
        assert both_listen(server)
        until(lambda: server.recorded() == ["desk_mic"], 30)


def test_a_headset_changes_its_profile(server, live):
    """It is the only microphone; for a moment the virtual one is the default."""
    server.unload("source_name=desk_mic")
    server.pactl(*SOURCE, "source_name=headset.a2dp", "rate=48000", "channels=2")
    default_is(server, "headset.a2dp")
    live()
    music, calls = "headset.a2dp", "headset.handsfree"
    with two_listeners(server):
        for before, after, rate in ((music, calls, 16000), (calls, music, 48000)):
            server.unload(f"source_name={before}")
            server.pactl(*SOURCE, f"source_name={after}", f"rate={rate}", "channels=1")
            server.pactl("set-default-source", after)
            until(lambda after=after: server.recorded() == [after], 30)
            stay(server)


def test_programs_connect_again_after_a_restart_of_the_server(server, live):
    """Those that do not name a source get the default one, the raw microphone."""

    def connected(*options):
        line = ["parec", "--raw", PROCESS, *options]
        return subprocess.Popen(line, env=server.environment, stdout=subprocess.DEVNULL)

    live()
    first = connected("--device=qse_microphone")
    until(lambda: "qse_microphone" in server.recording(), 30)
    lines(server, 4)
    server.kill()
    first.wait(30)
    until(lambda: "gone" in server.said, 30)
    server.start()
    time.sleep(1)
    again = connected()
    try:
        until(lambda: sorted(server.recording()) == ["desk_mic", "qse_microphone"], 40)
        lines(server, 3)
        assert sorted(server.recording()) == ["desk_mic", "qse_microphone"]
    finally:
        again.kill()
        again.wait()
