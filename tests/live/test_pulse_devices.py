"""The devices of a PulseAudio server of the test's own: named ones, the default ones, and where
they go to."""

import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest
from pulse import MISSING, Server, needs_sound_server, serving, thorough
from waiting import until

pytestmark = [
    needs_sound_server,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

HEADSET = ["load-module", "module-null-sink", "sink_name=headset", "rate=44100", "channels=2"]
# streams whose device vanishes, to another one; as desktops do
MOVES = ["load-module", "module-rescue-streams"]


@pytest.fixture
def server(tmp_path):
    """Yield a server with the sinks `desk`, which is the default one, and `headset`."""
    with serving(Server, tmp_path / "models") as server:
        for line in (HEADSET, MOVES, ["set-default-sink", "desk"]):
            server.pactl(*line)
        yield server


@pytest.fixture
def live(server):
    """Yield a function that starts qse live with options and returns the process when its sound
    runs."""
    started = []

    def start(*options):
        started.append(server.live(*options, virtual=False))
        return server.sounding(started[-1])

    yield start
    for process in started:
        process.kill()
        process.wait()


def plays_on(server) -> list[str]:
    """Return the sinks that programs play on."""
    return devices_of(server, "sink-inputs", "sinks")


def records_from(server) -> list[str]:
    """Return the sources that programs record from."""
    return devices_of(server, "source-outputs", "sources")


def devices_of(server, streams, devices) -> list[str]:
    """Return the devices of the streams that programs have; a stream without a client is the
    server's own."""
    names = dict(
        row.split("\t")[:2] for row in server.pactl("list", "short", devices).stdout.splitlines()
    )
    rows = [row.split("\t") for row in server.pactl("list", "short", streams).stdout.splitlines()]
    return [names.get(row[1], "") for row in rows if row[2] != "-"]


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
    assert "records what is played on" in server.said and "--input" in server.said


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
    module = index_of(server, "source_name=desk_mic")
    server.pactl("unload-module", module)
    process = server.live(*options, virtual=False)
    try:
        until(lambda: "waiting for a microphone" in server.said, 60)
        assert "--input" in server.said and records_from(server) == []
        server.pactl(
            "load-module", "module-remap-source", "source_name=desk_mic", "master=desk.monitor"
        )
        server.pactl("set-default-source", "desk_mic")
        with server.listening() if options == ["--virtual"] else nullcontext():
            until(lambda: "dropouts" in server.said, 60)
            until(lambda: "desk_mic" in records_from(server), 30)
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
    assert records_from(server) == ["headset.monitor"]
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
    until(lambda: "is no microphone" in server.said and records_from(server) == [], 30)
    server.pactl("set-default-source", "desk_mic")
    until(lambda: "came back: 1" in server.said, 30)
    assert process.poll() is None and records_from(server) == ["desk_mic"]


@thorough
def test_live_stops_while_the_default_input_hears_its_output(server, live):
    """Make the monitor of the output the default source, as a server does whose only microphone
    vanished."""
    process = live()
    server.pactl("set-default-source", "desk.monitor")
    until(lambda: "records what is played on" in server.said, 30)
    assert records_from(server) == []
    server.pactl("set-default-source", "desk_mic")
    until(lambda: "came back: 1" in server.said, 30)
    assert process.poll() is None and records_from(server) == ["desk_mic"]


def test_live_waits_for_a_named_output_that_vanished(server, live):
    """Check that it does not play on another device, to which the server moves it and which may be
    a loudspeaker."""
    process = live("--output", "headset")
    assert plays_on(server) == ["headset"]
    server.pactl("unload-module", index_of(server, "sink_name=headset"))
    until(lambda: "gone" in server.said, 30)
    assert plays_on(server) == []
    server.pactl(*HEADSET)
    until(lambda: plays_on(server) == ["headset"], 30)
    until(lambda: "came back: 1" in server.said, 30)
    assert process.poll() is None


def test_live_goes_on_when_devices_come_back_with_another_rate(server, live):
    process = live("--input", "desk_mic", "--output", "headset")
    server.pactl("unload-module", index_of(server, "sink_name=headset"))
    server.pactl("unload-module", index_of(server, "source_name=desk_mic"))
    until(lambda: "gone" in server.said, 30)
    server.pactl("load-module", "module-null-sink", "sink_name=headset", "rate=16000", "channels=1")
    microphone = ["source_name=desk_mic", "master=desk.monitor", "rate=24000", "channels=2"]
    server.pactl("load-module", "module-remap-source", *microphone)
    until(lambda: "came back: 1" in server.said and "(desk_mic)" in server.said, 30)
    assert (
        process.poll() is None
        and records_from(server) == ["desk_mic"]
        and plays_on(server) == ["headset"]
    )
    assert "float32le 1ch 16000Hz" in server.pactl("list", "sink-inputs").stdout
    assert "float32le 2ch 24000Hz" in server.pactl("list", "source-outputs").stdout


def test_live_ends_with_a_status_when_it_cannot_continue(server, live):
    """Let a microphone come back without the channel that was named, so that a service starts again
    and says why."""
    source = ["load-module", "module-null-sink", "sink_name=mixer", "rate=48000"]
    server.pactl(*source, "channels=2")
    process = live("--input", "mixer.monitor", "--output", "headset", "--channel", "2")
    server.pactl("unload-module", index_of(server, "sink_name=mixer"))
    until(lambda: "gone" in server.said, 30)
    server.pactl(*source, "channels=1")
    assert process.wait(30) == 2
    assert "has no channel 2: leave --channel out" in server.said


@thorough
def test_live_stays_where_a_user_moves_it(server, live):
    live("--output", "headset")
    [stream] = [
        row.split("\t")[0]
        for row in server.pactl("list", "short", "sink-inputs").stdout.splitlines()
    ]
    server.pactl("move-sink-input", stream, "desk")
    lines = server.said.count("\n")
    until(lambda: server.said.count("\n") > lines + 2, 30)
    assert plays_on(server) == ["desk"] and "gone" not in server.said


def test_live_without_names_follows_the_default_output(server, live):
    live()
    assert plays_on(server) == ["desk"]
    server.pactl("set-default-sink", "headset")
    until(lambda: plays_on(server) == ["headset"], 30)
    server.pactl("unload-module", index_of(server, "sink_name=headset"))
    until(lambda: plays_on(server) == ["desk"], 30)


FOUR = "channels=4 channel_map=aux0,aux1,aux2,aux3"


@pytest.mark.parametrize(
    "gains, options, said",
    [
        ((1, -1), [], "channels only 1"),
        pytest.param((0, 1), [], "channels without 1", marks=thorough),
        pytest.param((0, 0, 1, 0), ["--channel", "3"], "channels only 3 of 4", marks=thorough),
        ((0, 0, 1, -1), ["--channel", "3"], "channels only 3 of 4"),
    ],
)
def test_live_hears_every_kind_of_channels(server, live, gains, options, said):
    """Check that none of the sound is lost on its way through the server, which may mix channels
    itself."""
    form = FOUR if len(gains) == 4 else "channels=2"
    server.pactl("load-module", "module-null-sink", "sink_name=mixer", "rate=48000", *form.split())
    live("--input", "mixer.monitor", "--output", "headset", *options)
    voice = np.random.default_rng(0).uniform(-0.3, 0.3, (12 * 48000, 1))
    (voice * gains).astype(np.float32).tofile(server.home / "voice.raw")
    line = ["pacat", "--playback", "--device=mixer", "--rate=48000", "--format=float32le", "--raw"]
    line += [f"--{form}".replace(" channel_map", " --channel-map"), str(server.home / "voice.raw")]
    player = subprocess.Popen(" ".join(line).split(), env=server.environment)
    try:
        until(lambda: said in server.said and re.search(r"in -(19|20)\.\d dBFS", server.said), 12)
    finally:
        player.kill()
        player.wait()


def programs(server) -> list[int]:
    """Return the processes that record and play for qse live."""
    found = []
    home = os.fsencode(server.home)
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                b"--client-name=qse" in (path / "cmdline").read_bytes()
                and home in (path / "environ").read_bytes()
            ):
                found.append(int(path.name))
    return found


def test_live_killed_leaves_no_busy_programs(server, live):
    """Stop the server, which has no core for its work where programs of real-time priority keep all
    of them busy."""
    process = live()
    running = programs(server)
    assert len(running) == 2
    if {os.sched_getscheduler(pid) for pid in running} != {os.SCHED_RR}:
        pytest.skip("real-time priority is not granted here")
    server.process.send_signal(signal.SIGSTOP)
    try:
        process.kill()
        until(lambda: not programs(server), 10)
    finally:
        server.process.send_signal(signal.SIGCONT)


def index_of(server, words) -> str:
    modules = server.pactl("list", "short", "modules").stdout.splitlines()
    return next(row.split("\t")[0] for row in modules if words in row)
