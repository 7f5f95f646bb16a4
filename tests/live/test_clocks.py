"""An hour between two clocks: no dropout, no click, constant latency and memory."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import graphs
import numpy as np
import pytest
from live_streams import feed, start

import qse

BLOCK = 0.4  # seconds


def resident() -> int:
    """KiB of memory that this process holds now; 0 where the system does not tell."""
    statm = Path("/proc/self/statm")
    return (
        int(statm.read_text().split()[1]) * resource.getpagesize() // 1024 if statm.exists() else 0
    )


def minutes(engine, drift: float, count: int, block: float = BLOCK, buffer: float = 0.05):
    """Play a sine from a microphone to a headset whose clock runs faster by `drift`, and check it
    minute by minute.

    Returns the session, and per minute: the largest residual of a recursion that only that sine
    fulfils, the most that waited after a pull in seconds, and the memory of the process in KiB.
    """
    rate = engine.sample_rate
    frequency = 10.0
    size = round(block * rate)
    turn = 2 * np.cos(2 * np.pi * frequency / rate)
    session, run, microphone, speaker = start(engine, rate, size, buffer)
    ring = session.speakers[0].buffer.ring
    rows = []
    tail = np.zeros(2, np.float32)
    given = 0
    taken = 0
    for minute in range(count):
        residual = 0.0
        waited = 0.0
        while given < (minute + 1) * 60 * rate:
            if given <= taken / (1 + drift):
                at = np.arange(given, given + size)
                feed(run, microphone, [0.5 * np.sin(2 * np.pi * frequency / rate * at)[:, None]])
                given += size
                continue
            heard = np.concatenate([tail, speaker.take()[:, 0]])
            taken = taken + size
            tail = heard[-2:]
            waited = max(waited, ring.waiting / rate)
            if taken > 2 * rate:
                residual = max(residual, np.abs(heard[2:] + heard[:-2] - turn * heard[1:-1]).max())
        rows.append((residual, waited, resident()))
    return session, np.array(rows)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A model for long runs: 250 Hz, hops of 400 ms."""
    path = tmp_path_factory.mktemp("slow") / "model.onnx"
    return graphs.delay(path, 100, hop_length=100, sample_rate=250)


@pytest.mark.parametrize("drift, count", [(500e-6, 60), (-500e-6, 60), (-1000e-6, 6)])
def test_session_hour_between_two_clocks(slow, drift, count):
    """Run it in a process of its own, whose memory other tests do not change."""
    line = [sys.executable, __file__, str(slow), str(drift), str(count)]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        line, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    dropouts, *rows = done.stdout.splitlines()
    residual, waited, memory = np.array([row.split() for row in rows], float).T
    assert dropouts == "0" and len(rows) == count
    assert residual.max() < 1e-3  # a jump by 1 / 500 of the amplitude would show
    assert waited.max() < 0.05 + 3 * BLOCK
    assert memory[-1] - memory[1] < 4 * 1024


def test_session_clicks_without_drift_control(slow, monkeypatch):
    monkeypatch.setattr("qse.live.clock_drift.LIMIT", 0.0)
    session, rows = minutes(qse.load(slow), 3000e-6, 10)
    assert session.dropouts > 0 and rows[:, 0].max() > 1e-2


if __name__ == "__main__":
    session, rows = minutes(qse.load(Path(sys.argv[1])), float(sys.argv[2]), int(sys.argv[3]))
    print(session.dropouts)
    np.savetxt(sys.stdout, rows)
