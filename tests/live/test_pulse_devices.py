"""The devices of a PulseAudio server of the test's own: the list, microphones, monitors."""

import subprocess
import sys
from contextlib import nullcontext

import pytest
from pulse import MISSING, needs_sound_server, thorough
from waiting import until

pytestmark = [
    needs_sound_server,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def device_list(server, **variables) -> list[str]:
    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--list"]
    environment = {**server.environment, "COLUMNS": "160", **variables}
    return subprocess.run(line, env=environment, capture_output=True, text=True).stdout.splitlines()


def test_live_list_shows_sources_and_sinks(server):
    rows = device_list(server)
    assert len(rows) == 6 and all("PulseAudio" in row for row in rows[1:])
    kinds = ["desk_mic", "(desk)", "(headset)", "desk.monitor", "headset.monitor"]
    assert [kind for row, kind in zip(rows[1:], kinds, strict=True) if kind not in row] == []
    source, sink = (row for row in rows if row.rstrip().endswith("put"))
    assert "desk_mic" in source and "(desk)" in sink


def test_live_list_shows_the_defaults_of_the_environment(server):
    rows = device_list(server, PULSE_SINK="headset", PULSE_SOURCE="headset.monitor")
    chosen = [row for row in rows if row.rstrip().endswith("put")]
    assert "(headset)" in chosen[0] and "headset.monitor" in chosen[1]


def test_live_refuses_an_input_that_hears_its_output(server):
    assert server.live("--input", "desk.monitor", "--output", "(desk)", virtual=False).wait(60) == 2
    assert "records what is played on" in server.said and "a microphone as input" in server.said


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--output", "headset"], marks=thorough),
        ["--virtual"],
        pytest.param(["--no-monitor"], marks=thorough),
    ],
)
def test_live_waits_for_a_microphone(server, options):
    """Take the only microphone away: the server makes a monitor the default source."""
    server.unload("source_name=desk_mic")
    process = server.live(*options, virtual=False)
    try:
        until(lambda: "waiting for a microphone" in server.said, 60)
        assert "choose another input" in server.said and server.recording() == []
        server.pactl(
            "load-module", "module-remap-source", "source_name=desk_mic", "master=desk.monitor"
        )
        server.pactl("set-default-source", "desk_mic")
        with server.listening() if options == ["--virtual"] else nullcontext():
            until(lambda: "dropouts" in server.said, 60)
            until(lambda: "desk_mic" in server.recording(), 30)
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(30)
    assert server.said.count("waiting for a microphone") == 1


def test_live_without_reconnect_does_not_wait_for_a_microphone(server):
    server.pactl("set-default-source", "headset.monitor")
    assert server.live("--no-reconnect", virtual=False).wait(60) == 2
    assert "is no microphone" in server.said


def test_live_takes_a_monitor_that_is_named_and_says_so(server, live):
    live("--input", "headset.monitor")
    assert server.recording() == ["headset.monitor"]
    assert "is no microphone: it records what is played on headset" in server.said


def test_live_names_the_device_to_which_a_user_moves_it(server, live):
    live("--input", "desk_mic", "--output", "headset")
    [stream] = [
        row.split("\t")[0]
        for row in server.pactl("list", "short", "source-outputs").stdout.splitlines()
        if "native" in row
    ]
    server.pactl("move-source-output", stream, "headset.monitor")
    until(lambda: "headset.monitor is no microphone" in server.said, 30)


def test_live_does_not_move_to_the_monitor_of_another_output(server, live):
    """Play on the headset only, so that the monitor of the desk would return nothing."""
    process = live("--output", "headset")
    server.pactl("set-default-source", "desk.monitor")
    until(lambda: "is no microphone" in server.said and server.recording() == [], 30)
    server.pactl("set-default-source", "desk_mic")
    until(lambda: "came back: 1" in server.said, 30)
    assert process.poll() is None and server.recording() == ["desk_mic"]


@thorough
def test_live_stops_while_the_default_input_hears_its_output(server, live):
    """Make the monitor of the output the default source, as a server does whose only microphone
    vanished."""
    process = live()
    server.pactl("set-default-source", "desk.monitor")
    until(lambda: "records what is played on" in server.said, 30)
    assert server.recording() == []
    server.pactl("set-default-source", "desk_mic")
    until(lambda: "came back: 1" in server.said, 30)
    assert process.poll() is None and server.recording() == ["desk_mic"]
