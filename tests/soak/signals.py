"""Send SIGINT or SIGTERM at random times to `qse denoise`; nothing may abort or be left behind.

Each run is a process of its own, forked after the imports, that ends as the command does,
interpreter included. It enhances two files with two threads. One run in three gets a second and a
third signal within 50 ms. Busy processes load the machine meanwhile.

    python tests/soak/signals.py --runs 1000 --load 4
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import soundfile

BUSY = "while True: sum(range(10000))"
SIGNALS = (signal.SIGINT, signal.SIGTERM)
FORKS = """
import os, signal, sys
import soxr, soundfile, qse.runtime.batch, qse_cli.main  # ONNX Runtime does not survive a fork
child = 1
for line in sys.stdin:
    if not (child := os.fork()):
        break
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
if not child:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    said, *arguments = line.split()
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.argv = ["qse", *arguments]
    qse_cli.main.main()
"""
STATUSES = {
    0: "finished",
    130: "130",
    143: "143",
    -signal.SIGINT: "SIGINT",
    -signal.SIGTERM: "SIGTERM",
}


def run(
    forks: subprocess.Popen, folder: Path, model: str, rng: random.Random, longest: float
) -> tuple:
    """Do one run; return its status, its messages, and the files that are neither inputs nor
    complete results."""
    said = folder / "said"
    files = [str(path) for path in folder.glob("?.wav")]
    print(said, "denoise", *files, "--model", model, "--threads", "2", file=forks.stdin, flush=True)
    child = int(forks.stdout.readline())
    time.sleep(rng.uniform(0, longest))
    number = rng.choice(SIGNALS)
    for _ in range(rng.choice((1, 1, 3))):
        try:
            os.kill(child, number)
        except ProcessLookupError:
            break
        time.sleep(rng.uniform(0, 0.05))
    status = int(forks.stdout.readline())
    left = []
    for path in folder.iterdir():
        if path.name.endswith("-enhanced.wav"):
            if (
                soundfile.info(path).frames
                != soundfile.info(folder / path.name.replace("-enhanced", "")).frames
            ):
                left.append(path.name)
            path.unlink()
        elif path.suffix != ".wav" and path != said:
            left.append(path.name)
            path.unlink()
    return status, said.read_text(), left


def main() -> None:
    """Run, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--load", type=int, default=2, metavar="PROCESSES")
    parser.add_argument(
        "--longest", type=float, default=1.5, help="seconds until the first signal, at most"
    )
    parser.add_argument("--model", default="live-tiny")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    counts = Counter()
    wrong = []
    line = [sys.executable, "-c", FORKS]
    forks = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(asked.load)]
    try:
        with tempfile.TemporaryDirectory() as place:
            for name in "ab":
                audio = 0.1 * np.random.default_rng(0).standard_normal(16000 * 60)
                soundfile.write(Path(place) / f"{name}.wav", audio, 16000)
            for number in range(asked.runs):
                status, said, left = run(forks, Path(place), asked.model, rng, asked.longest)
                counts[STATUSES.get(status, str(status))] += 1
                if status not in STATUSES or "Traceback" in said or "terminate" in said or left:
                    wrong.append(number)
                    print(f"run {number}: status {status}, left {left}: {said}", flush=True)
    finally:
        for process in (*busy, forks):
            process.kill()
    print(f"{asked.runs} runs, by status: {dict(counts)}; wrong: {len(wrong)}", end="; ")
    print(f"load {os.getloadavg()[0]:.0f}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
