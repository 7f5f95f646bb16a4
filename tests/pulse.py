"""A PulseAudio server of a test's own, with a microphone and qse live on it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import graphs
import numpy as np
import pytest
import soundfile
from waiting import until

TOOLS = ("pulseaudio", "pactl", "pacat", "parec")
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]
RATE = 16000
SELECTED = os.environ.get("QSE_SOUND_SERVER")  # what tests/sound_server.sh runs
NOISY = Path(__file__).parents[1] / "assets/noisy.wav"

HEADSET = ["load-module", "module-null-sink", "sink_name=headset", "rate=44100", "channels=2"]

needs_sound_server = pytest.mark.skipif(
    SELECTED is None, reason="needs a sound server: tests/sound_server.sh"
)
thorough = pytest.mark.skipif(SELECTED != "all", reason="left out: tests/sound_server.sh --all")


class Server:
    """A PulseAudio server with a sink `desk`, and a microphone `desk_mic` that hears what is played
    there."""

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
        loads = []
        for load in ("module-device-restore", "module-native-protocol-unix", sink, source):
            loads += ["-L", load]
        with (self.home / "log").open("a") as log:
            self.process = subprocess.Popen(
                [*line, *loads], env=self.environment, stdout=log, stderr=log
            )
        until(lambda: self.pactl("set-default-source", "desk_mic", check=False).returncode == 0)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pactl(self, *arguments, check=True):
        environment = {**self.environment, "LC_ALL": "C"}
        return subprocess.run(
            ["pactl", *arguments],
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # as a state that it has no name for, pactl prints any bytes
            check=check,
        )

    def names(self, kind):
        return [*self._numbered(kind).values()]

    def _numbered(self, kind):
        """Return names by index; the bytes of a state may hold line ends."""
        rows = self.pactl("list", "short", kind, check=False).stdout
        return dict(re.findall(r"^(\d+)\t([^\t\n]+)", rows, re.MULTILINE))

    def unload(self, words):
        """Remove the device whose module has these words in its arguments."""
        rows = self.pactl("list", "short", "modules").stdout.splitlines()
        self.pactl("unload-module", next(row.split("\t")[0] for row in rows if words in row))

    def playing(self):
        """Return the sinks that programs play on."""
        return self._used("sink-inputs", "sinks")

    def recording(self):
        """Return the sources that programs record from."""
        return self._used("source-outputs", "sources")

    def _used(self, streams, devices):
        """Return the devices of streams; one without a client is the server's own."""
        names = self._numbered(devices)
        rows = self.pactl("list", "short", streams).stdout.splitlines()
        fields = [row.split("\t") for row in rows]
        return [names.get(device, "") for _, device, client, *_ in fields if client != "-"]

    @contextmanager
    def listening(self, source="qse_microphone"):
        """Record from a source meanwhile, as a meeting program does."""
        line = ["parec", f"--device={source}", "--raw"]
        listener = subprocess.Popen(line, env=self.environment, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            listener.kill()
            listener.wait()

    def recorded(self):
        """Return the sources that qse records from."""
        names = self._numbered("sources")
        found = []
        for part in self.pactl("list", "source-outputs").stdout.split("Source Output #"):
            source = re.search(r"Source: (\d+)", part)
            if source and 'application.name = "qse"' in part:
                found.append(names.get(source[1]))
        return found

    def live(self, *options, virtual=True):
        line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--plain"]
        line += ["--virtual"] if virtual else []
        (self.home / "live").write_text("")
        log = (self.home / "live").open("a")  # or a process would write over what another said
        return subprocess.Popen(
            [*line, "--buffer", "200", *options],
            env=self.environment,
            stdout=log,
            stderr=log,
            process_group=0,  # as a shell gives it, for Ctrl-Z
        )

    def sounding(self, process):
        """Return `process`, which `live` has started, when its sound runs."""
        until(lambda: process.poll() is not None or "dropouts" in self.said, 60)
        assert process.poll() is None, self.said
        return process

    @property
    def said(self):
        return (self.home / "live").read_text()


PIPEWIRE = ("dbus-run-session", "pipewire", "pipewire-pulse", "wireplumber")
PIPEWIRE_MISSING = [tool for tool in (*PIPEWIRE, *TOOLS[1:]) if not shutil.which(tool)]
# marks of the tests that run on both servers, and the servers, PulseAudio for all tests alone
needs_both_servers = [
    needs_sound_server,
    pytest.mark.skipif(
        bool(MISSING + PIPEWIRE_MISSING),
        reason=f"not installed: {', '.join(MISSING + PIPEWIRE_MISSING)}",
    ),
]
PIPEWIRE_RUN = "pipewire & sleep 0.5; wireplumber & pipewire-pulse & wait"


class PipeWire(Server):
    """The same devices on PipeWire, with its server for PulseAudio's clients."""

    def start(self):
        line = ["dbus-run-session", "--", "bash", "-c", PIPEWIRE_RUN]
        with (self.home / "log").open("a") as log:
            self.process = subprocess.Popen(
                line, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        until(lambda: self.pactl("info", check=False).returncode == 0)
        sink = ["module-null-sink", "sink_name=desk", "rate=48000", "channels=1"]
        source = ["module-remap-source", "source_name=desk_mic", "master=desk.monitor"]
        for load in (sink, source):
            self.pactl("load-module", *load)
        until(lambda: self.pactl("set-default-source", "desk_mic", check=False).returncode == 0)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def serving(kind, models=None):
    """Run a server of `kind`; a live-base that only delays is in the folder `models`, if given."""
    server = kind()
    try:
        if models:
            graphs.delay(models / "live-base" / "model.onnx")
            server.environment["QSE_MODELS"] = str(models)
        yield server
    finally:
        server.kill()
        shutil.rmtree(server.home, ignore_errors=True)


@contextmanager
def starting(server, virtual, end, sounding=True):
    """Yield a function that starts qse live with options and returns the process, when its sound
    runs if `sounding`; `end` is called with each at the end."""
    started = []

    def start(*options, virtual=virtual):
        process = server.live(*options, virtual=virtual)
        started.append(process)
        return server.sounding(process) if sounding else process

    yield start
    for process in started:
        end(process)
        process.wait(30)


def heard_through(server, seconds=5.0):
    """Play noisy.wav to the sink `desk`; return it and what parec records from the virtual
    microphone."""
    noisy, _ = soundfile.read(NOISY, dtype="float32")
    noisy = noisy[: int((seconds - 2) * RATE)]
    return noisy, heard_while_playing(server, noisy, RATE)


def heard_while_playing(server, audio, rate):
    """Play `audio` (samples,), float32, to the sink `desk`; return what parec records from the
    virtual microphone."""
    audio.tofile(server.home / "noisy.raw")
    form = [f"--rate={rate}", "--channels=1", "--format=float32le", "--raw", "--latency-msec=50"]
    with (server.home / "heard.raw").open("wb") as file:
        line = ["parec", "--device=qse_microphone", *form]
        recorder = subprocess.Popen(line, env=server.environment, stdout=file)
    line = ["pacat", "--playback", "--device=desk", *form, str(server.home / "noisy.raw")]
    player = subprocess.Popen(line, env=server.environment)
    time.sleep(len(audio) / rate + 1.5)  # pacat may wait for ever for a loaded server to drain
    for process in (player, recorder):
        process.terminate()
        process.wait()
    heard = (server.home / "heard.raw").read_bytes()
    return np.frombuffer(heard[: len(heard) // 4 * 4], np.float32)


def likeness(noisy, heard, rate=RATE):
    """Upper decile, over quarters of a second of `noisy`, of the largest normalised correlation
    with any part of `heard`: a busy machine loses sound on the way, and none of it arrives if the
    virtual microphone does not work."""
    length = rate // 4
    found = []
    power = np.convolve(heard.astype(float) ** 2, np.ones(length), "valid")
    size = 1 << (len(heard) + length).bit_length()
    for start in range(length, len(noisy) - length, length):
        part = noisy[start : start + length]
        match = np.fft.irfft(np.fft.rfft(heard, size) * np.fft.rfft(part, size).conj())[
            : len(power)
        ]
        found.append((match / np.sqrt(power * np.sum(part**2) + 1e-6)).max())
    return float(np.percentile(found, 90))
