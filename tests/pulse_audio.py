"""A PulseAudio server of the test's own with two virtual sound cards, `noisy` and `enhanced`, and
recorders of both."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from threading import Thread

import numpy as np
from pulse import PipeWire

TOOLS = ("pulseaudio", "pactl", "pacat", "parec")
RATE = 16000
CARD_RATE = 44100


def real_time() -> list[str]:
    """Return the beginning of a line that runs a program at real-time priority; nothing where the
    system does not allow that."""
    line = ["chrt", "--rr", "5"]
    if not shutil.which("chrt"):
        return []
    return [] if subprocess.run([*line, "true"], capture_output=True).returncode else line


FIRST = real_time()  # a busy machine must not keep clients of the test waiting


@contextmanager
def pulse_audio() -> Iterator[dict[str, str]]:
    """Start the server; yield the environment in which it is the only one there is."""
    home = Path(tempfile.mkdtemp(prefix="qse-"))  # a socket's path must be short
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("PULSE_SERVER", None)
    loads = ["-L", "module-native-protocol-unix", "-L", card("noisy"), "-L", card("enhanced")]
    line = ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--realtime=yes", *loads]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(line, env=environment, stdout=log, stderr=log)
    try:
        until(lambda: _answers(environment))
        if FIRST:
            subprocess.run(["chrt", "--rr", "--pid", "5", str(process.pid)], check=True)
        yield environment
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(home)


@contextmanager
def pipe_wire() -> Iterator[dict[str, str]]:
    """Start PipeWire with the same two sound cards; yield the environment in which it is the only
    server."""
    server = PipeWire()
    environment = {**server.environment, "OMP_NUM_THREADS": "1"}
    try:
        for name in ("noisy", "enhanced"):
            server.pactl("load-module", *card(name).split())
        until(lambda: {"noisy", "enhanced"} <= set(server.names("sinks")))
        yield environment
    finally:
        server.kill()
        shutil.rmtree(server.home, ignore_errors=True)


def _answers(environment: dict) -> bool:
    asked = subprocess.run(["pactl", "info"], env=environment, capture_output=True)
    return asked.returncode == 0


def card(name: str) -> str:
    """Return the module that makes a virtual sound card, with its arguments."""
    return f"module-null-sink sink_name={name} rate={CARD_RATE} channels=2"


def until(true, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


class Ear(Thread):
    """Records a source, as the monitor of a sink.

    `begin`: when the first sample of it was heard.
    """

    def __init__(self, source: str, environment: dict, rate: int = RATE):
        super().__init__(daemon=True)
        line = [*FIRST, "parec", f"--device={source}", f"--rate={rate}", "--channels=1"]
        line += ["--format=float32le", "--latency-msec=20"]
        self.process = subprocess.Popen(line, env=environment, stdout=PIPE)
        self.begin = np.inf
        self.rate = rate
        self._parts: list[bytes] = []
        self._heard = 0
        self.start()

    def run(self) -> None:
        while part := os.read(self.process.stdout.fileno(), 1 << 16):
            self._parts.append(part)
            self._heard += len(part) // 4
            # what was late counts for nothing
            self.begin = min(self.begin, time.monotonic() - self._heard / self.rate)

    def stop(self) -> np.ndarray:
        self.process.kill()
        self.join()
        heard = b"".join(self._parts)
        return np.frombuffer(heard[: len(heard) // 4 * 4], np.float32)
