"""Measure how soon the microphone is open when somebody begins to listen to the virtual one.

    python tests/soak/idle.py [pulseaudio | pipewire]

Times are from the server's events, as `pactl subscribe` prints them: from the listener's stream to
that of qse. The load of the machine at that time is printed beside them.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from pulse import PipeWire, Server
from waiting import until

TIMES = 20


def events(server) -> list[float]:
    """Return a list to which the times of new recordings are added."""
    found: list[float] = []
    line = ["pactl", "subscribe"]
    process = subprocess.Popen(line, env=server.environment, stdout=subprocess.PIPE, text=True)

    def follow() -> None:
        for text in process.stdout:
            if "Event 'new' on source-output" in text:
                found.append(time.monotonic())

    Thread(target=follow, daemon=True).start()
    return found


def main() -> None:
    """Listen TIMES times, with pauses in which the microphone closes."""
    server = PipeWire() if sys.argv[1:] == ["pipewire"] else Server()
    live = server.live()
    waits = []
    try:
        until(lambda: "dropouts" in server.said, 60)
        new = events(server)
        for _ in range(TIMES):
            until(lambda: server.recorded() == [], 60)
            new.clear()
            with server.listening():
                until(lambda: len(new) > 1, 60)
                until(lambda: server.recorded() == ["desk_mic"], 60)
            waits.append(1000 * (new[1] - new[0]))
    finally:
        live.terminate()
        live.wait(30)
        server.kill()
    median = np.median(waits)
    most = max(waits)
    print(f"{type(server).__name__}: open after {median:.0f} ms (median), {most:.0f} ms (longest)")
    print(f"of {TIMES}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print([line for line in server.said.splitlines() if line.startswith("dropouts")][-1])
    shutil.rmtree(server.home, ignore_errors=True)


if __name__ == "__main__":
    main()
