"""Fuzz the readers: damaged files of every kind must be refused in a sentence, or read.

    cd tests
    python -m fuzz                                            # every target, as in the tests
    python -m fuzz audio models --cases 20000 --seed 7
    python -m fuzz audio --seed 7 --first 1234 --cases 1      # one case again

A finding is: an exception that is no QseError, a message that does not name the file, a wrong
result, a left-over file, a crash, more than 60 s of processor time or 400 MiB for one case.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from time import monotonic

CASES = {  # in the tests
    "audio": 60,
    "video": 8,
    "losses": 30,
    "models": 100,
    "models-denoise": 20,
    "manifests": 40,
    "configurations": 80,
    "weights": 50,
    "runs": 4,
    "tables": 80,
}
TORCH = ("weights", "runs", "tables")  # need PyTorch
LONGEST = 600.0  # seconds without a new case, after which the process is ended


def fuzz(
    target: str,
    cases: int,
    seed: int = 0,
    first: int = 0,
    counts: Counter[str] | None = None,
) -> Iterator[tuple[int, str]]:
    """Yield the number of each case of `target` with a finding, and the finding; add to `counts`
    what became of the cases, by words."""
    last = first + cases
    while first < last:
        line = [sys.executable, "-m", "fuzz.worker", target, str(seed), str(first), str(last)]
        worker = subprocess.Popen(
            line,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        number = None
        timer = _killing(worker)
        assert worker.stdout and worker.stderr
        for text in worker.stdout:
            found = json.loads(text)
            if isinstance(found, str):
                yield number or first, found
            elif isinstance(found, dict):
                if counts is not None:
                    counts.update(found)
            else:
                number = found
                timer.cancel()
                timer = _killing(worker)
        timer.cancel()
        said = worker.stderr.read()
        status = worker.wait()
        if status == 0:
            return
        if number is None:
            raise RuntimeError(f"{target} could not be prepared: {said}")
        yield number, f"the process ended with status {status}: {said[-1500:]}"
        first = number + 1


def _killing(process: subprocess.Popen) -> Timer:
    timer = Timer(LONGEST, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def main() -> None:
    """Fuzz some targets; print the findings, and exit with status 1 if there are any."""
    parser = argparse.ArgumentParser(description="Fuzz the readers of files.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(CASES))
    parser.add_argument("--cases", type=int, help="of each target; default: as in the tests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--minutes", type=float, help="go on with further cases for so long")
    asked = parser.parse_args()
    failed = False
    for target in asked.targets or CASES:
        count = 0
        cases = asked.cases or CASES[target]
        first = asked.first
        counts: Counter[str] = Counter()
        end = monotonic() + 60 * (asked.minutes or 0)
        while first == asked.first or monotonic() < end:
            for number, finding in fuzz(target, cases, asked.seed, first, counts):
                count += 1
                case = f"{target} --seed {asked.seed} --first {number} --cases 1"
                print(f"{case}: {finding}\n", flush=True)
            first += cases
        became = "".join(f", {number} {word}" for word, number in sorted(counts.items()))
        print(f"{target}: {first - asked.first} cases{became}, {count} findings", flush=True)
        failed |= bool(count)
    sys.exit(failed)


if __name__ == "__main__":
    main()
