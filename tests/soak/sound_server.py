"""Real time through a sound server, with other programs that load the machine on and off, or with
pauses.

    player -> [sink noisy] -> monitor -> qse live -> [sink enhanced] -> monitor -> recorder

With --virtual, qse live plays into its virtual microphone, and the recorder listens to that as a
meeting program does.

Dropouts are counted twice: by `qse live`, with their reasons, and in the recording, as stretches of
digital silence; the length of a stretch is the time to recovery. The input is noise, of which no
model makes digital silence. A recording of that input shows what is lost without `qse live`.

    python tests/soak/sound_server.py --minutes 20 --load 2 --pipewire --virtual
    python tests/soak/sound_server.py --minutes 30 --load 4             # 4 busy processes (nice 10)
    python tests/soak/sound_server.py --minutes 30 --load 4 --ordinary  # no real-time priority
    python tests/soak/sound_server.py --minutes 10 --suspend 20         # stopped for 3 s, 20 times
    python tests/soak/sound_server.py --unplug 100                      # the devices vanish, return

The busy processes run in every second half minute. --pipewire goes with all of them.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import numpy as np
from live_process import Live, playing, print_silences

sys.path.insert(0, str(Path(__file__).parents[1]))
from pulse_audio import CARD_RATE, FIRST, Ear, card, pipe_wire, pulse_audio, until

PERIOD = 30.0  # seconds of load, and of rest
STOPPED = 3.0  # seconds that a suspended process is stopped
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


def load(live: Live, minutes: float, processes: int) -> None:
    """Start and kill busy processes, PERIOD seconds each, for `minutes`.

    Print the dropouts by phase, with the longest time for which the machine kept a process of
    real-time priority waiting in that phase.
    """
    began = time.monotonic()
    turn = 0
    counts = [0, 0]
    while (left := 60 * minutes - (time.monotonic() - began)) > 0:
        before = live.dropouts
        busy = processes if turn % 2 else 0
        stall = _phase(min(PERIOD, left), busy)
        counts[turn % 2] += live.dropouts - before
        if turn % 10 == 0 or live.dropouts != before or "gone" in live.said:
            passed = f"{time.monotonic() - began:.0f} s, {busy} busy"
            machine = f"machine waited {1000 * stall:.0f} ms, load {os.getloadavg()[0]:.1f}"
            process = f"{live.priority}, {live.memory():.1f} MiB"
            said = live.said.partition(", dropouts")[2]
            print(f"{passed}, {machine}, {process}: dropouts{said}", flush=True)
        turn += 1
    print(f"dropouts without load: {counts[0]}, with load: {counts[1]}")


def _phase(seconds: float, processes: int) -> float:
    """Let the busy processes run for `seconds`; return the longest time in seconds for which the
    machine kept a process waiting."""
    line = [*FIRST, sys.executable, "-c", WITNESS]
    witness = subprocess.Popen(line, stdin=PIPE, stdout=PIPE, text=True)
    busy = [subprocess.Popen(BUSY) for _ in range(processes)]
    time.sleep(seconds)
    for process in busy:
        process.kill()
        process.wait()
    return float(witness.communicate("\n")[0])


def suspend(live: Live, times: int, minutes: float) -> None:
    """Stop the process for STOPPED seconds, again and again."""
    for _ in range(times):
        live.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED)
        live.process.send_signal(signal.SIGCONT)
        time.sleep(max(1.0, 60 * minutes / times - STOPPED))
    print(live.said, flush=True)


def unplug(start: Callable[[], Live], environment: dict, times: int) -> Live:
    """Take both sinks away and bring them back; print how long it takes until sound goes through
    `qse live` again.

    Where it ends, it is started again.
    """
    live = start()
    waits = []
    given_up = 0
    for number in range(times):
        with playing(environment):
            until(lambda live=live: live.hears)
            _pactl(environment, "unload-module", "module-null-sink")
            until(lambda live=live: "gone" in live.said or live.process.poll() is not None)
        for name in ("noisy", "enhanced"):
            _pactl(environment, "load-module", *card(name).split())
        began = time.monotonic()
        with playing(environment):
            until(lambda live=live: live.hears or live.process.poll() is not None)
        if live.process.poll() is None:
            waits.append(time.monotonic() - began)
        else:
            given_up += 1
            live = start()
        if number % 10 == 9 or number == times - 1:
            again = f"sound again {len(waits)} times after {np.median(waits):.1f} s"
            print(f"{number + 1} times, {again} (longest {max(waits):.1f} s),", end=" ")
            print(f"ended {given_up} times; {live.memory():.1f} MiB", flush=True)
    return live


def _pactl(environment: dict, *arguments: str) -> None:
    subprocess.run(["pactl", *arguments], env=environment, check=False, stdout=subprocess.DEVNULL)


def asked() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--load", type=int, default=0, metavar="PROCESSES")
    parser.add_argument("--ordinary", action="store_true")
    parser.add_argument("--suspend", type=int, default=0, metavar="TIMES")
    parser.add_argument("--unplug", type=int, default=0, metavar="TIMES")
    parser.add_argument("--pipewire", action="store_true", help="in place of PulseAudio")
    parser.add_argument("--virtual", action="store_true", help="into the virtual microphone")
    parser.add_argument("options", nargs="*", help="options of qse live, after --")
    return parser.parse_args()


def main() -> None:
    """Run one of the three."""
    wanted = asked()
    server = pipe_wire if wanted.pipewire else pulse_audio
    target = ["--virtual"] if wanted.virtual else ["--output", "enhanced"]
    heard_at = "qse_microphone" if wanted.virtual else "enhanced.monitor"
    with tempfile.TemporaryDirectory() as folder, server() as environment:

        def start() -> Live:
            return Live(environment, Path(folder), [*target, *wanted.options], wanted.ordinary)

        if wanted.unplug:
            print(unplug(start, environment, wanted.unplug).end())
            return
        with playing(environment):
            live = start()
            ears = [Ear(name, environment, CARD_RATE) for name in (heard_at, "noisy.monitor")]
            until(lambda: live.hears)
            time.sleep(5)
            if wanted.suspend:
                suspend(live, wanted.suspend, wanted.minutes)
            else:
                load(live, wanted.minutes, wanted.load)
            heard, played = (ear.stop() for ear in ears)
            print(live.end())
    print_silences(heard_at, heard)
    print_silences("noisy.monitor", played)


if __name__ == "__main__":
    main()
