"""The virtual loudspeaker on PulseAudio and PipeWire: what another program plays there is heard on
the real output; loops are refused."""

import subprocess
import sys

import numpy as np
import pytest
from pulse import needs_both_servers, starting
from waiting import until

pytestmark = needs_both_servers
OPTION = "--virtual-speaker"


@pytest.fixture
def server(either_server):
    either_server.pactl("set-default-sink", "desk")
    return either_server


@pytest.fixture
def live(server):
    """Start qse live with options, and wait for its sound."""
    with starting(server, virtual=False, end=subprocess.Popen.terminate) as start:
        yield start


@pytest.fixture
def player(server):
    """A call or a film: it plays noise of -15 dBFS on a sink."""
    started = []

    def play(sink):
        noise = np.random.default_rng(0).uniform(-0.3, 0.3, 60 * 16000).astype(np.float32)
        noise.tofile(server.home / "call.raw")
        form = ["--rate=16000", "--channels=1", "--format=float32le", "--raw"]
        line = ["pacat", "--playback", f"--device={sink}", *form, str(server.home / "call.raw")]
        started.append(subprocess.Popen(line, env=server.environment))
        return started[-1]

    yield play
    for process in started:
        process.kill()
        process.wait()


def level(server, source):
    """Return the level of a second of a source, in dBFS."""
    line = ["timeout", "2", "parec", f"--device={source}", "--format=float32le", "--raw"]
    form = ["--rate=16000", "--channels=1", "--latency-msec=50"]
    heard = subprocess.run([*line, *form], env=server.environment, capture_output=True).stdout
    samples = np.frombuffer(heard[: len(heard) // 4 * 4], np.float32)[-16000:]
    return 10 * np.log10(np.mean(samples.astype(float) ** 2) + 1e-12) if len(samples) else -120.0


def test_what_a_program_plays_is_heard_on_the_output_and_only_while_it_plays(server, live, player):
    live(OPTION)
    assert "qse_speaker" in server.names("sinks")
    until(lambda: "idle nobody plays on the virtual speaker" in server.said, 30)
    assert server.recorded() == [] and server.playing() == []
    call = player("qse_speaker")
    until(lambda: server.recorded() == ["qse_speaker.monitor"], 30)
    until(lambda: sorted(server.playing()) == ["desk", "qse_speaker"], 30)
    until(lambda: abs(level(server, "desk.monitor") + 15) < 2, 30)
    assert "is no microphone" not in server.said and "microphone delivers" not in server.said
    call.kill()
    until(lambda: server.recorded() == [], 30)


def test_virtual_speaker_as_default_output_does_not_play_on_itself(server, live, player):
    live(OPTION)
    server.pactl("set-default-sink", "qse_speaker")
    player("@DEFAULT_SINK@")
    until(lambda: sorted(server.playing()) == ["desk", "qse_speaker"], 30)
    until(lambda: abs(level(server, "desk.monitor") + 15) < 2, 30)


def test_virtual_speaker_beside_the_virtual_microphone(server, live, player):
    live(OPTION)
    live(virtual=True)
    until(lambda: "qse_microphone" in server.names("sources"), 30)
    player("qse_speaker")
    with server.listening():
        until(lambda: set(server.recorded()) == {"desk_mic", "qse_speaker.monitor"}, 30)
        until(lambda: set(server.playing()) == {"desk", "qse_output", "qse_speaker"}, 30)


@pytest.mark.parametrize(
    "options, fault",
    [
        (["--output", "qse_speaker"], "would return to the input"),
        (["--input", "desk_mic"], "takes the place of --input"),
        (["--virtual"], "two sessions"),
    ],
)
def test_loops_and_second_sources_are_refused(server, options, fault):
    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", OPTION]
    done = subprocess.run(
        [*line, *options], env=server.environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and fault in done.stderr and done.stderr.count("\n") == 1
    assert "qse_speaker" not in server.names("sinks")
