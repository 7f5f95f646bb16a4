"""qse live on PipeWire: no monitor for a microphone, every kind of channels, devices that come
back changed."""

import re
import subprocess
from contextlib import nullcontext

import numpy as np
import pytest
from pulse import PIPEWIRE_MISSING, PipeWire, needs_sound_server, serving, starting, thorough
from waiting import until

pytestmark = [
    needs_sound_server,
    pytest.mark.skipif(
        bool(PIPEWIRE_MISSING), reason=f"not installed: {', '.join(PIPEWIRE_MISSING)}"
    ),
]
MICROPHONE = ["load-module", "module-remap-source", "source_name=desk_mic", "master=desk.monitor"]
POSITIONS = ("front-left", "front-right", "rear-left", "rear-right")
HEADSET = ["load-module", "module-null-sink"]


@pytest.fixture
def server(tmp_path):
    with serving(PipeWire, tmp_path / "models") as server:
        yield server


@pytest.fixture
def live(server):
    """Yield a function that starts qse live with options; it is ended at the end."""
    with starting(server, virtual=False, end=subprocess.Popen.terminate, sounding=False) as start:
        yield start


@pytest.mark.parametrize("virtual", [True, pytest.param(False, marks=thorough)])
def test_pipewire_waits_for_a_microphone(server, live, virtual):
    server.unload("source_name=desk_mic")
    process = live(*([] if virtual else ["--no-monitor"]), virtual=virtual)
    until(lambda: "waiting for a microphone" in server.said, 60)
    assert server.recorded() == []
    server.pactl(*MICROPHONE)
    until(lambda: server.pactl("set-default-source", "desk_mic", check=False).returncode == 0)
    with server.listening() if virtual else nullcontext():
        until(lambda: "dropouts" in server.said, 60)
        until(lambda: server.recorded() == ["desk_mic"], 30)
    assert process.poll() is None


@pytest.mark.parametrize("virtual", [pytest.param(True, marks=thorough), False])
def test_pipewire_does_not_record_a_monitor_when_the_microphone_vanishes(server, live, virtual):
    process = live(*([] if virtual else ["--no-monitor"]), virtual=virtual)
    until(lambda: "dropouts" in server.said, 60)
    with server.listening() if virtual else nullcontext():
        server.unload("source_name=desk_mic")
        until(lambda: "still waiting: " in server.said and "no microphone" in server.said, 30)
        assert server.recorded() == []
        server.pactl(*MICROPHONE)
        until(lambda: server.pactl("set-default-source", "desk_mic", check=False).returncode == 0)
        until(lambda: "came back: " in server.said, 30)
        until(lambda: server.recorded() == ["desk_mic"], 30)
    assert process.poll() is None


def test_pipewire_buffer_covers_a_long_quantum(server, live):
    """The server then takes 171 ms at once: with a smaller buffer, sound is missing each time."""
    live("--buffer", "20", virtual=True)
    until(lambda: "dropouts" in server.said, 60)
    quantum = ["pw-metadata", "-n", "settings", "0", "clock.force-quantum", "8192"]
    counts = []
    with server.listening():
        until(lambda: server.recorded() == ["desk_mic"], 30)
        subprocess.run(quantum, env=server.environment, check=True, capture_output=True)
        for _ in range(2):
            lines = server.said.count("\n")
            until(lambda lines=lines: server.said.count("\n") > lines + 10, 60)
            found = re.findall(r"buffer underrun: (\d+)|dropouts 0", server.said)
            counts.append(int(found[-1] or 0))
    assert counts[1] - counts[0] < 8 and "latency" in server.said


def test_pipewire_recorders_know_the_latency_or_users_are_told(server, live):
    """Version 1.4 takes the latency of a virtual source, 0.3.65 does not."""
    live(virtual=True)
    until(lambda: "dropouts" in server.said, 60)
    line = ["timeout", "9", "parec", "--device=qse_microphone", "--raw", "--verbose"]
    with server.listening():
        until(lambda: server.recorded() == ["desk_mic"], 30)
        lines = server.said.count("\n")
        until(lambda: server.said.count("\n") > lines + 12, 60)
        done = subprocess.run(
            [*line, "--latency-msec=20"], env=server.environment, capture_output=True
        )
    shown, told = re.findall(r"latency (\d+) ms \([^)]*\); (.*?),", server.said)[-1]
    known = min(int(text) / 1000 for text in re.findall(rb"Latency: (\d+) usec", done.stderr)[9:])
    if told == "the sound server tells recorders":
        assert int(shown) - 15 < known < int(shown) + 30
    else:
        assert told == "recorders need it as delay of the picture" and known < 40


def test_pipewire_headset_comes_back_with_its_profile_for_calls(server, live):
    """It has another name, rate and number of channels then."""
    server.pactl(*HEADSET, "sink_name=headset.a2dp", "rate=44100", "channels=2")
    process = live("--input", "desk_mic", "--output", "headset")
    until(lambda: "dropouts" in server.said, 60)
    server.unload("sink_name=headset.a2dp")
    until(lambda: "gone" in server.said, 30)
    server.pactl(*HEADSET, "sink_name=headset.handsfree", "rate=16000", "channels=1")
    until(lambda: "came back: 1" in server.said, 30)
    assert process.poll() is None
    played = server.pactl("list", "sink-inputs").stdout
    assert "float32le 1ch" in played and 'media.name = "qse"' in played


@pytest.mark.parametrize(
    "gains, options, said",
    [
        pytest.param((1, -1), [], "channels only 1", marks=thorough),
        ((0, 0, 1, -1), ["--channel", "3"], "channels only 3 of 4"),
    ],
)
def test_pipewire_hears_every_kind_of_channels(server, live, gains, options, said):
    count = len(gains)
    positions = ",".join(POSITIONS[: len(gains)])
    form = [f"channels={count}", f"channel_map={positions}"]
    server.pactl("load-module", "module-null-sink", "sink_name=mixer", "rate=48000", *form)
    live("--input", "mixer.monitor", "--no-monitor", *options)
    voice = np.random.default_rng(0).uniform(-0.3, 0.3, (15 * 48000, 1))
    (voice * gains).astype(np.float32).tofile(server.home / "voice.raw")
    line = ["pacat", "--playback", "--device=mixer", "--rate=48000", "--format=float32le", "--raw"]
    line += [f"--channels={count}", f"--channel-map={positions}"]
    player = subprocess.Popen([*line, str(server.home / "voice.raw")], env=server.environment)
    try:
        until(lambda: said in server.said and re.search(r"in -(19|20)\.\d dBFS", server.said), 15)
    finally:
        player.kill()
        player.wait()
