"""The virtual microphone on PulseAudio and PipeWire: who listens, what session managers restore,
two at once."""

from subprocess import Popen

import pytest
from pulse import needs_both_servers, starting
from waiting import until

pytestmark = needs_both_servers


@pytest.fixture
def server(either_server):
    return either_server


@pytest.fixture
def live(server):
    """Yield a function that starts qse live --virtual with options and waits for its sound."""
    with starting(server, virtual=True, end=Popen.kill) as start:
        yield start


def test_capture_is_open_only_while_somebody_listens(server, live):
    live()
    for _ in range(2):
        until(lambda: server.recorded() == [], 30)
        with server.listening():
            until(lambda: server.recorded() == ["desk_mic"], 30)
    until(lambda: "idle nobody listens" in server.said, 30)


def test_capture_is_open_while_a_recording_runs(server, live, tmp_path):
    live("--record", str(tmp_path / "both.wav"))
    lines = server.said.count("\n")
    until(lambda: server.said.count("\n") > lines + 4, 30)
    assert server.recorded() == ["desk_mic"] and "idle" not in server.said


def test_virtual_microphone_comes_back_while_nobody_listens(server, live):
    live()
    until(lambda: server.recorded() == [], 30)
    rows = server.pactl("list", "short", "modules").stdout.splitlines()
    sink, source = [row.split("\t")[0] for row in rows if "qse.owner" in row]
    server.pactl("unload-module", source)
    server.pactl("unload-module", sink, check=False)  # qse may have made it again already
    until(lambda: "qse_microphone" in server.names("sources"), 30)


def state_of(server, kind, name):
    for part in server.pactl("list", f"{kind}s").stdout.split("#"):
        if f"Name: {name}\n" in part:
            return "Mute: no" in part and "100%" in part
    return None


def test_own_mute_volume_and_default_are_reported_and_not_restored(server, live):
    process = live()
    time_to_settle(server)
    server.pactl("set-default-sink", "qse_output")
    until(lambda: "virtual qse output is the default output" in server.said, 30)
    server.pactl("set-source-mute", "qse_microphone", "1")
    until(lambda: "virtual qse microphone is muted in the sound settings" in server.said, 30)
    server.pactl("set-source-mute", "qse_microphone", "0")
    server.pactl("set-sink-volume", "qse_output", "40%")
    until(lambda: "virtual qse output is at 40% in the sound settings" in server.said, 30)
    server.pactl("set-source-mute", "qse_microphone", "1")
    process.terminate()
    process.wait(30)
    live()
    until(lambda: state_of(server, "source", "qse_microphone"), 30)
    until(lambda: state_of(server, "sink", "qse_output"), 30)
    until(lambda: "Default Sink: desk" in server.pactl("info").stdout, 30)


def test_sound_stays_in_the_virtual_microphone_when_default_devices_change(server, live):
    """The server moves streams from one default device to the next, whatever they asked for."""
    live()
    with server.listening():
        until(lambda: "qse_microphone" in server.recording(), 30)
        server.pactl("set-default-source", "qse_microphone")
        server.pactl("set-default-sink", "qse_output")
        time_to_settle(server)
        assert "qse_microphone" in server.recording()
        returned = server.said.count("vanished and came back")
        server.pactl("set-default-sink", "qse_output")
        until(lambda: "virtual qse output is the default output" in server.said, 30)
        server.pactl("set-default-sink", "desk")
        until(lambda: server.said.count("vanished and came back") > returned, 30)
        until(lambda: server.playing() == ["qse_output"], 30)


def time_to_settle(server):
    """Wait until what the server restores is no longer corrected."""
    lines = server.said.count("\n")
    until(lambda: server.said.count("\n") > lines + 3, 30)


def test_two_virtual_microphones_at_once(server, live):
    live()
    live("--name", "podcast")
    wanted = {"qse_microphone", "qse_microphone_podcast"}
    until(lambda: wanted <= set(server.names("sources")), 30)
    assert "qse microphone podcast" in server.pactl("list", "sources").stdout
    with server.listening("qse_microphone_podcast"):
        until(lambda: server.recorded() == ["desk_mic"], 30)
        with server.listening():
            until(lambda: server.recorded() == ["desk_mic", "desk_mic"], 30)
    refused = server.live("--name", "no/name")
    assert refused.wait(60) == 2 and "is no name for a virtual device" in server.said


MICROPHONE = ["load-module", "module-remap-source", "source_name=desk_mic", "master=desk.monitor"]


def both_listen(server):
    return server.recording().count("qse_microphone") == 2


def test_listeners_stay_while_the_only_microphone_is_unplugged_twice(server, live):
    """The server makes the virtual microphone the default, and moves its listeners away with the
    default when the microphone returns."""
    live()
    with server.listening(), server.listening():
        until(lambda: both_listen(server), 30)
        time_to_settle(server)
        for count in (1, 2):
            server.unload("source_name=desk_mic")
            until(lambda: "Default Source: qse_microphone" in server.pactl("info").stdout, 30)
            server.pactl(*MICROPHONE)
            until(lambda: "Default Source: desk_mic" in server.pactl("info").stdout, 30)
            back = f"came back: {count}"
            until(lambda back=back: back in server.said, 30)
            until(lambda: both_listen(server), 30)
        time_to_settle(server)
        assert both_listen(server)
        until(lambda: server.recorded() == ["desk_mic"], 30)


def test_a_listener_that_a_user_moves_stays_there(server, live):
    live()
    with server.listening():
        until(lambda: "qse_microphone" in server.recording(), 30)
        time_to_settle(server)
        time_to_settle(server)
        rows = server.pactl("list", "source-outputs").stdout.split("Source Output #")
        index = next(row.split()[0] for row in rows if 'application.name = "parec"' in row)

        def moved():
            """WirePlumber 0.4.13 ignores some requests."""
            server.pactl("move-source-output", index, "desk_mic")
            return "qse_microphone" not in server.recording()

        until(moved, 30)
        until(lambda: "idle nobody listens" in server.said, 30)
        assert "qse_microphone" not in server.recording()


def test_listeners_of_a_killed_process_go_over_to_the_next_one(server, live):
    process = live()
    with server.listening():
        until(lambda: "qse_microphone" in server.recording(), 30)
        process.kill()
        process.wait()
        live()
        until(lambda: sorted(server.recording()) == ["desk_mic", "qse_microphone"], 30)
