"""Real time through a sound server, with other programs that load the machine on and off, or with pauses.

    player -> [sink noisy] -> monitor -> qse live -> [sink enhanced] -> monitor -> recorder

Dropouts are counted twice: by `qse live`, with their reasons, and in the recording, as stretches of digital silence;
the length of a stretch is the time to recovery. The input is noise, of which no model makes digital silence.

    python tests/soak/sound_server.py --minutes 30 --load 4             # 4 busy processes (nice 10), on and off
    python tests/soak/sound_server.py --minutes 30 --load 4 --ordinary  # without the right to real-time priority
    python tests/soak/sound_server.py --minutes 10 --suspend 20         # stop the process for 3 s, 20 times
    python tests/soak/sound_server.py --unplug 100                      # the microphone vanishes and returns
    python tests/soak/sound_server.py --minutes 20 --pipewire           # with PipeWire
"""

import argparse
import atexit
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from pulse_audio import CARD_RATE, FIRST, Ear, card, pipe_wire, pulse_audio, until

PERIOD = 30.0  # seconds of load, and of rest
STOPPED = 3.0  # seconds that a suspended process is stopped
SHORTEST = 0.004  # seconds of digital silence that count as a dropout
BUSY = ["nice", "-n", "10", sys.executable, "-c", "while True: sum(range(10000))"]
WITNESS = """
import select, sys, time
longest = 0.0
while not select.select([sys.stdin], [], [], 0)[0]:
    begin = time.monotonic()
    time.sleep(0.005)
    longest = max(longest, time.monotonic() - begin - 0.005)
print(longest)
"""
ORDINARY = ["setpriv", "--bounding-set=-sys_nice"]


class Live:
    """`qse live --plain` from the sink noisy to the sink enhanced. `said`: its last line."""

    def __init__(self, environment: dict, folder: Path, options: list[str], ordinary: bool = False):
        line = [
            *(ORDINARY if ordinary else []),
            sys.executable,
            "-c",
            "from qse_cli.main import main; main()",
            "live",
            "--plain",
        ]
        line += ["--input", "noisy.monitor", "--output", "enhanced", *options]
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
        """Return the scheduling policy of the threads: how many have real-time priority, and the nice value."""
        threads = [int(path.name) for path in Path(f"/proc/{self.process.pid}/task").iterdir()]
        urgent = sum(
            os.sched_getscheduler(thread) in (os.SCHED_RR, os.SCHED_FIFO) for thread in threads
        )
        return f"{urgent} of {len(threads)} threads real-time, nice {os.getpriority(os.PRIO_PROCESS, self.process.pid)}"

    def end(self) -> str:
        # SIGINT is ignored where a shell has started this with &
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) in (0, 143), "qse live ended with an error"
        said = self.path.read_text()
        return said[said.rindex("longest block") - 80 :].partition("\n")[2]


def silences(heard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return begin and length in seconds of the stretches of digital silence, the shortest ones left out."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], heard == 0, [False]]).astype(np.int8)))
    begins = edges[::2] / CARD_RATE
    lengths = (edges[1::2] - edges[::2]) / CARD_RATE
    return begins[lengths >= SHORTEST], lengths[lengths >= SHORTEST]


@contextmanager
def playing(environment: dict) -> Iterator[None]:
    """Play noise into the sink noisy meanwhile."""
    code = f"""
import sys, numpy as np
rng = np.random.default_rng(0)
while True:
    sys.stdout.buffer.write((0.1 * rng.standard_normal({CARD_RATE})).astype(np.float32).tobytes())
"""
    line = [*FIRST, "pacat", "--playback", "--device=noisy", f"--rate={CARD_RATE}", "--channels=1"]
    line += ["--format=float32le", "--latency-msec=500", "--raw"]
    source = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    player = subprocess.Popen(line, env=environment, stdin=source.stdout, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        for process in (source, player):
            process.kill()
            process.wait()


def load(live: Live, minutes: float, processes: int) -> None:
    """Start and kill busy processes, PERIOD seconds each, for `minutes`; print the dropouts by phase, with the longest
    time for which the machine kept a process of real-time priority waiting in that phase."""
    began = time.monotonic()
    turn = 0
    counts = [0, 0]
    while (left := 60 * minutes - (time.monotonic() - began)) > 0:
        before = live.dropouts
        witness = subprocess.Popen(
            [*FIRST, sys.executable, "-c", WITNESS], stdin=PIPE, stdout=PIPE, text=True
        )
        busy = [subprocess.Popen(BUSY) for _ in range(processes if turn % 2 else 0)]
        time.sleep(min(PERIOD, left))
        for process in busy:
            process.kill()
            process.wait()
        stall = 1000 * float(witness.communicate("\n")[0])
        counts[turn % 2] += live.dropouts - before
        if turn % 10 == 0 or live.dropouts != before or "gone" in live.said:
            print(
                f"{time.monotonic() - began:.0f} s, {len(busy)} busy, machine waited {stall:.0f} ms,",
                end=" ",
            )
            print(
                f"{live.priority}, {live.memory():.1f} MiB, load average {os.getloadavg()[0]:.1f}:",
                end=" ",
            )
            print(live.said.partition("latency")[2], flush=True)
        turn += 1
    print(f"dropouts without load: {counts[0]}, with load: {counts[1]}")


def suspend(live: Live, times: int, minutes: float) -> None:
    """Stop the process for STOPPED seconds, again and again."""
    for _ in range(times):
        live.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED)
        live.process.send_signal(signal.SIGCONT)
        time.sleep(max(1.0, 60 * minutes / times - STOPPED))
    print(live.said, flush=True)


def unplug(start: Callable[[], Live], environment: dict, times: int) -> Live:
    """Take both sinks away and bring them back; print how long it takes until sound goes through `qse live` again.

    Where it ends, it is started again.
    """
    live = start()
    waits = []
    given_up = 0
    for number in range(times):
        with playing(environment):
            until(lambda live=live: live.hears)
            subprocess.run(
                ["pactl", "unload-module", "module-null-sink"], env=environment, check=False
            )
            until(lambda live=live: "gone" in live.said or live.process.poll() is not None)
        for name in ("noisy", "enhanced"):
            subprocess.run(
                ["pactl", "load-module", *card(name).split()],
                env=environment,
                check=True,
                stdout=-3,
            )
        began = time.monotonic()
        with playing(environment):
            until(lambda live=live: live.hears or live.process.poll() is not None)
        if live.process.poll() is None:
            waits.append(time.monotonic() - began)
        else:
            given_up += 1
            live = start()
        if number % 10 == 9 or number == times - 1:
            print(
                f"{number + 1} times, sound again {len(waits)} times after {np.median(waits):.1f} s",
                end="",
            )
            print(
                f" (longest {max(waits):.1f} s), ended {given_up} times; {live.memory():.1f} MiB",
                flush=True,
            )
    return live


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--load", type=int, default=0, metavar="PROCESSES")
    parser.add_argument("--ordinary", action="store_true")
    parser.add_argument("--suspend", type=int, default=0, metavar="TIMES")
    parser.add_argument("--unplug", type=int, default=0, metavar="TIMES")
    parser.add_argument("--pipewire", action="store_true", help="in place of PulseAudio")
    parser.add_argument("options", nargs="*", help="options of qse live, after --")
    asked = parser.parse_args()
    server = pipe_wire if asked.pipewire else pulse_audio
    with tempfile.TemporaryDirectory() as folder, server() as environment:

        def start() -> Live:
            return Live(environment, Path(folder), asked.options, asked.ordinary)

        if asked.unplug:
            print(unplug(start, environment, asked.unplug).end())
            return
        with playing(environment):
            live = start()
            time.sleep(5)
            ear = Ear("enhanced", environment, CARD_RATE)
            if asked.suspend:
                suspend(live, asked.suspend, asked.minutes)
            else:
                load(live, asked.minutes, asked.load)
            heard = ear.stop()
            print(live.end())
    begins, lengths = silences(heard[np.flatnonzero(heard)[0] :])
    print(f"in the recording of {len(heard) / CARD_RATE:.0f} s: {len(lengths)} silences", end="")
    if len(lengths):
        print(
            f", median {1000 * np.median(lengths):.0f} ms, longest {1000 * lengths.max():.0f} ms",
            end="",
        )
        print(f", above 100 ms: {(lengths > 0.1).sum()}", end="")
        print(
            "; at "
            + ", ".join(
                f"{at:.1f} s: {1000 * long:.0f} ms"
                for at, long in zip(begins, lengths, strict=True)
            )
        )
    print()


if __name__ == "__main__":
    main()
