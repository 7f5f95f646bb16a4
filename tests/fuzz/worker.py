"""The process that runs the cases of one target. A crash of it is a finding of its parent."""

import json
import os
import resource
import sys
import tempfile
import traceback
from pathlib import Path
from random import Random

import graphs

from .audio import Audio, Video
from .losses import Losses
from .models import CommandModels, Models
from .target import Target
from .texts import Configurations, Manifests
from .training import Runs, Tables, Weights

TARGETS: dict[str, type[Target]] = {
    target.name: target
    for target in (
        Audio,
        Video,
        Losses,
        Models,
        CommandModels,
        Manifests,
        Configurations,
        Weights,
        Runs,
        Tables,
    )
}
HEADROOM = 2 << 30  # bytes of address space that the cases may take
SECONDS = 60  # of processor time for one case
GROWTH = 400 << 10  # KiB by which one case may raise the most memory that the process held


def main() -> None:
    """Run cases FIRST to LAST of TARGET with SEED; print a line of JSON for each finding, and
    number each case."""
    name, seed, first, last = sys.argv[1], *map(int, sys.argv[2:5])
    out = os.dup(1)
    os.dup2(2, 1)  # libraries print too
    with tempfile.TemporaryDirectory(prefix="qse-fuzz-") as place:
        os.environ["QSE_MODELS"] = f"{place}/models"
        for model in ("live-base", "studio-large"):
            graphs.delay(Path(place) / "models" / model / "model.onnx")
        target = TARGETS[name]()
        intact = Path(place) / "intact"
        intact.mkdir()
        target.prepare(intact)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + HEADROOM, resource.RLIM_INFINITY))
        for number in range(first, last):
            os.write(out, f"{number}\n".encode())
            if found := _case(target, seed, number):
                os.write(out, json.dumps(found).encode() + b"\n")
        os.write(out, json.dumps(target.counts).encode() + b"\n")


def _case(target: Target, seed: int, number: int) -> str | None:
    """Run one case in a folder of its own; return what went wrong."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    before = usage.ru_maxrss
    spent = int(usage.ru_utime + usage.ru_stime)
    # the system ends the process
    resource.setrlimit(resource.RLIMIT_CPU, (spent + SECONDS, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory(prefix="qse-case-") as folder:
        try:
            target.run(Path(folder), Random(f"{target.name} {seed} {number}"))
        except Exception as error:
            text = "".join(traceback.format_exception(error)[-4:])
            return f"{type(error).__name__}: {text[-1500:]}"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"{grown >> 10} MiB of memory" if grown > GROWTH else None


if __name__ == "__main__":
    main()
