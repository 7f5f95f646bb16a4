"""The virtual microphone on a PulseAudio server of the test's own; another program records from it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import graphs
import numpy as np
import pytest
import soundfile
from waiting import until

TOOLS = ("pulseaudio", "pactl", "pacat", "parec")
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]
pytestmark = [
    pytest.mark.skipif("QSE_SOUND_SERVER" not in os.environ, reason="takes a minute: tests/sound_server.sh"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

RATE = 16000
NOISY = Path(__file__).parents[2] / "assets/noisy.wav"


class Server:
    """A PulseAudio server with a sink `desk`, and a microphone `desk_mic` that hears what is played there."""

    SOURCES = ["desk.monitor", "desk_mic"]

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="qse-"))  # a socket's path must be short
        self.environment = {**os.environ, "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home)}
        self.environment.pop("PULSE_SERVER", None)
        self.start()

    def start(self):
        sink = "module-null-sink sink_name=desk rate=48000 channels=1"
        line = ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1"]
        source = "module-remap-source source_name=desk_mic master=desk.monitor"
        loads = [word for load in ("module-native-protocol-unix", sink, source) for word in ("-L", load)]
        with (self.home / "log").open("a") as log:
            self.process = subprocess.Popen([*line, *loads], env=self.environment, stdout=log, stderr=log)
        until(lambda: self.pactl("set-default-source", "desk_mic", check=False).returncode == 0)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pactl(self, *arguments, check=True):
        environment = {**self.environment, "LC_ALL": "C"}
        return subprocess.run(["pactl", *arguments], env=environment, capture_output=True, text=True, check=check)

    def names(self, kind):
        rows = self.pactl("list", "short", kind, check=False).stdout.splitlines()
        return [row.split("\t")[1] for row in rows]

    def live(self, *options):
        line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--virtual", "--plain"]
        log = (self.home / "live").open("w")
        return subprocess.Popen([*line, "--buffer", "200", *options], env=self.environment, stdout=log, stderr=log)

    @property
    def said(self):
        return (self.home / "live").read_text()


@pytest.fixture
def server(tmp_path):
    server = Server()
    graphs.delay(tmp_path / "models" / "live-base" / "model.onnx")
    server.environment["QSE_MODELS"] = str(tmp_path / "models")
    yield server
    server.kill()
    shutil.rmtree(server.home)


@pytest.fixture
def live(server):
    """qse live --virtual at work."""
    process = server.live()
    until(lambda: process.poll() is not None or "dropouts" in server.said, 60)
    assert process.poll() is None, server.said
    yield process
    process.kill()
    process.wait()


def heard_through(server, seconds=5.0):
    """Play noisy.wav to the sink `desk`; return it and what parec records from the virtual microphone."""
    noisy, _ = soundfile.read(NOISY, dtype="float32")
    noisy = noisy[: int((seconds - 2) * RATE)]
    noisy.tofile(server.home / "noisy.raw")
    form = [f"--rate={RATE}", "--channels=1", "--format=float32le", "--raw", "--latency-msec=50"]
    with (server.home / "heard.raw").open("wb") as file:
        line = ["parec", "--device=qse_microphone", *form]
        recorder = subprocess.Popen(line, env=server.environment, stdout=file)
    line = ["pacat", "--playback", "--device=desk", *form, str(server.home / "noisy.raw")]
    player = subprocess.Popen(line, env=server.environment)
    time.sleep(len(noisy) / RATE + 1.5)  # pacat may wait for ever for a loaded server to drain
    for process in (player, recorder):
        process.terminate()
        process.wait()
    heard = (server.home / "heard.raw").read_bytes()
    return noisy, np.frombuffer(heard[: len(heard) // 4 * 4], np.float32)


def likeness(noisy, heard):
    """Median over quarters of a second of `noisy` of the largest normalised correlation with any part of `heard`.

    A busy machine may lose some sound on the way, but not half of it.
    """
    length, found = RATE // 4, []
    power = np.convolve(heard.astype(float) ** 2, np.ones(length), "valid")
    size = 1 << (len(heard) + length).bit_length()
    for start in range(length, len(noisy) - length, length):
        part = noisy[start : start + length]
        match = np.fft.irfft(np.fft.rfft(heard, size) * np.fft.rfft(part, size).conj())[: len(power)]
        found.append((match / np.sqrt(power * np.sum(part**2) + 1e-6)).max())
    return float(np.median(found))


def test_virtual_microphone_is_heard_by_another_program(server, live):
    assert {"qse_microphone"} <= set(server.names("sources")) and "qse_output" in server.names("sinks")
    assert "Description: qse microphone" in server.pactl("list", "sources").stdout
    assert "Default Source: desk_mic" in server.pactl("info").stdout
    assert likeness(*heard_through(server)) > 0.8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_virtual_microphone_is_removed_after_signal(server, live, number):
    live.send_signal(number)
    live.wait(30)
    assert server.names("sinks") == ["desk"] and server.names("sources") == server.SOURCES


def test_virtual_microphone_of_crashed_process_is_replaced_or_removed(server, live):
    live.kill()
    live.wait()
    assert "qse_microphone" in server.names("sources")
    again = server.live()
    until(lambda: again.poll() is not None or "dropouts" in server.said, 60)
    assert server.names("sources").count("qse_microphone") == 1 and len(server.names("sinks")) == 2
    again.kill()
    again.wait()
    assert remove(server).returncode == 0
    assert server.names("sinks") == ["desk"]
    assert "no virtual microphone" in remove(server).stderr


def remove(server):
    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--remove-virtual"]
    return subprocess.run(line, env=server.environment, capture_output=True, text=True)


def test_virtual_microphone_in_use_is_refused(server, live):
    second = subprocess.run(server_line(), env=server.environment, capture_output=True, text=True)
    assert second.returncode == 2 and f"process {live.pid} already" in second.stderr
    assert f"process {live.pid}" in remove(server).stderr
    assert "qse_microphone" in server.names("sources") and live.poll() is None


def server_line(*options):
    return [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--virtual", *options]


def test_virtual_microphone_refuses_output(server):
    done = subprocess.run(server_line("--output", "x"), env=server.environment, capture_output=True, text=True)
    assert done.returncode == 2 and "takes the place of --output" in done.stderr


def test_virtual_microphone_without_server_is_one_sentence(server):
    server.kill()
    done = subprocess.run(server_line(), env=server.environment, capture_output=True, text=True)
    assert done.returncode == 2 and "running" in done.stderr and done.stderr.count("\n") == 1


def test_virtual_microphone_survives_restart_of_server(server, live):
    server.kill()
    until(lambda: "gone" in server.said, 30)
    server.start()
    until(lambda: "qse_microphone" in server.names("sources"), 30)
    time.sleep(2)
    assert live.poll() is None
    assert likeness(*heard_through(server)) > 0.8
    live.send_signal(signal.SIGTERM)
    live.wait(30)
    assert server.names("sinks") == ["desk"]


def recordings(server):
    """Index and source of everything that a program records, without the virtual microphone's own link."""
    sources = dict(row.split("\t")[:2] for row in server.pactl("list", "short", "sources").stdout.splitlines())
    rows = [row.split("\t") for row in server.pactl("list", "short", "source-outputs").stdout.splitlines()]
    return {row[0]: sources[row[1]] for row in rows if row[3].startswith("protocol-native")}


def test_virtual_microphone_is_never_its_own_input(server, live):
    """Not as the default source, which the server moves recordings to, not when it is moved there, and not by name."""
    assert list(recordings(server).values()) == ["desk_mic"]
    server.pactl("set-default-source", "qse_microphone")
    time.sleep(1)
    for _ in range(2):
        until(lambda: list(recordings(server).values()) == ["desk_mic"], 30)
        server.pactl("move-source-output", *recordings(server), "qse_microphone")
        until(lambda: "qse_microphone" not in recordings(server).values(), 5)
    until(lambda: list(recordings(server).values()) == ["desk_mic"], 30)
    live.terminate()
    live.wait(30)
    for name in ("qse_microphone", "qse_output"):
        done = subprocess.run(server_line("--input", name), env=server.environment, capture_output=True, text=True)
        assert done.returncode == 2 and "matches no input" in done.stderr
