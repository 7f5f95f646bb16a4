"""Devices of a PulseAudio server that vanish, return changed or become the default; channels;
qse live killed."""

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from pulse import HEADSET, MISSING, needs_sound_server, thorough
from waiting import until

pytestmark = [
    needs_sound_server,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def test_live_waits_for_a_named_output_that_vanished(server, live):
    """Check that it does not play on another device, to which the server moves it and which may be
    a loudspeaker."""
    process = live("--output", "headset")
    assert server.playing() == ["headset"]
    server.unload("sink_name=headset")
    until(lambda: "gone" in server.said, 30)
    assert server.playing() == []
    server.pactl(*HEADSET)
    until(lambda: server.playing() == ["headset"], 30)
    until(lambda: "came back: 1" in server.said, 30)
    assert process.poll() is None


def test_live_goes_on_when_devices_come_back_with_another_rate(server, live):
    process = live("--input", "desk_mic", "--output", "headset")
    server.unload("sink_name=headset")
    server.unload("source_name=desk_mic")
    until(lambda: "gone" in server.said, 30)
    server.pactl("load-module", "module-null-sink", "sink_name=headset", "rate=16000", "channels=1")
    microphone = ["source_name=desk_mic", "master=desk.monitor", "rate=24000", "channels=2"]
    server.pactl("load-module", "module-remap-source", *microphone)
    until(lambda: "came back: 1" in server.said and "(desk_mic)" in server.said, 30)
    assert (
        process.poll() is None
        and server.recording() == ["desk_mic"]
        and server.playing() == ["headset"]
    )
    assert "float32le 1ch 16000Hz" in server.pactl("list", "sink-inputs").stdout
    assert "float32le 2ch 24000Hz" in server.pactl("list", "source-outputs").stdout


def test_live_ends_with_a_status_when_it_cannot_continue(server, live):
    """Let a microphone come back without the channel that was named, so that a service starts again
    and says why."""
    source = ["load-module", "module-null-sink", "sink_name=mixer", "rate=48000"]
    server.pactl(*source, "channels=2")
    process = live("--input", "mixer.monitor", "--output", "headset", "--channel", "2")
    server.unload("sink_name=mixer")
    until(lambda: "gone" in server.said, 30)
    server.pactl(*source, "channels=1")
    assert process.wait(30) == 2
    assert "has no channel 2, it has only one" in server.said


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
    assert server.playing() == ["desk"] and "gone" not in server.said


def test_live_without_names_follows_the_default_output(server, live):
    live()
    assert server.playing() == ["desk"]
    server.pactl("set-default-sink", "headset")
    until(lambda: server.playing() == ["headset"], 30)
    server.unload("sink_name=headset")
    until(lambda: server.playing() == ["desk"], 30)


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
        until(lambda: not programs(server), 30)
    finally:
        server.process.send_signal(signal.SIGCONT)
