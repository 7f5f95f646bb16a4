"""qse live in a process of its own, noise that is played to it, and the silences of what it gives.

player -> [sink noisy] -> monitor -> qse live -> sink or virtual microphone -> recorder
"""

import atexit
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from pulse_audio import CARD_RATE, FIRST, until

SHORTEST = 0.004  # seconds of digital silence that count as a dropout
ORDINARY = ["setpriv", "--bounding-set=-sys_nice"]
COMMAND = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--plain"]
URGENT = (os.SCHED_RR, os.SCHED_FIFO)
NOISE = """
import sys
import numpy as np
rng = np.random.default_rng(0)
while True:
    sys.stdout.buffer.write((0.1 * rng.standard_normal(48000)).astype(np.float32).tobytes())
"""


class Live:
    """`qse live --plain` with the monitor of the sink noisy as its microphone.

    said: its last line.
    """

    def __init__(self, environment: dict, folder: Path, options: list[str], ordinary: bool = False):
        """`ordinary`: without the right to real-time priority."""
        line = [*(ORDINARY if ordinary else []), *COMMAND, "--input", "noisy.monitor", *options]
        self.path = folder / "out"
        with self.path.open("w") as out, (folder / "err").open("w") as err:
            self.process = subprocess.Popen(line, env=environment, stdout=out, stderr=err)
        atexit.register(self.process.kill)
        until(lambda: self.process.poll() is not None or "dropouts" in self.path.read_text())
        assert self.process.poll() is None, (folder / "err").read_text()

    @property
    def said(self) -> str:
        lines = self.path.read_text().splitlines()
        return lines[-1] if lines else ""

    @property
    def dropouts(self) -> int:
        """The dropouts in its last line."""
        return int(re.search(r"dropouts (\d+)", self.said)[1])

    @property
    def hears(self) -> bool:
        """Return whether it has devices and sound came from them in the last second."""
        found = re.search(r"in (-?[\d.]+) dBFS", self.said)
        return "gone" not in self.said and found is not None and float(found[1]) > -60

    def memory(self) -> float:
        """MiB that the process holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    @property
    def priority(self) -> str:
        """Say how many threads have real-time priority, and the nice value of the process."""
        threads = [int(path.name) for path in Path(f"/proc/{self.process.pid}/task").iterdir()]
        urgent = sum(os.sched_getscheduler(thread) in URGENT for thread in threads)
        nice = os.getpriority(os.PRIO_PROCESS, self.process.pid)
        return f"{urgent} of {len(threads)} threads real-time, nice {nice}"

    def end(self) -> str:
        """End the process and return its report."""
        # SIGINT is ignored where a shell has started this with &
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) in (0, 143), "qse live ended with an error"
        said = self.path.read_text()
        return said[said.rindex("longest block") - 80 :].partition("\n")[2]


@contextmanager
def playing(environment: dict) -> Iterator[None]:
    """Play noise into the sink noisy meanwhile."""
    line = [*FIRST, "pacat", "--playback", "--device=noisy", f"--rate={CARD_RATE}", "--channels=1"]
    line += ["--format=float32le", "--latency-msec=500", "--raw"]
    source = subprocess.Popen([sys.executable, "-c", NOISE], stdout=subprocess.PIPE)
    player = subprocess.Popen(line, env=environment, stdin=source.stdout, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        for process in (source, player):
            process.kill()
            process.wait()


def silences(heard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return begin and length in seconds of the stretches of digital silence of a recording at
    CARD_RATE, those below SHORTEST left out."""
    silent = np.concatenate([[False], heard == 0, [False]])
    edges = np.flatnonzero(np.diff(silent.astype(np.int8)))
    begins = edges[::2] / CARD_RATE
    lengths = (edges[1::2] - edges[::2]) / CARD_RATE
    counted = lengths >= SHORTEST
    return begins[counted], lengths[counted]


def print_silences(source: str, heard: np.ndarray) -> None:
    """Print number, length and places of the silences in a recording of a source, from its first
    sound on."""
    begins, lengths = silences(heard[np.flatnonzero(heard)[0] :])
    print(f"{source}, {len(heard) / CARD_RATE:.0f} s: {len(lengths)} silences", end="")
    if not len(lengths):
        print()
        return
    median = 1000 * np.median(lengths)
    print(f", median {median:.0f} ms, longest {1000 * lengths.max():.0f} ms", end="")
    print(f", above 100 ms: {(lengths > 0.1).sum()}")
    for begin, length in zip(begins, lengths, strict=True):
        print(f"  at {begin:.1f} s: {1000 * length:.0f} ms")
