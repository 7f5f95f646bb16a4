"""Measure the speed of streaming, hop by hop, and count memory and operations of a model."""

import subprocess
import sys
from dataclasses import asdict
from functools import partial

import numpy as np

from ..errors import QseError
from ..machine import machine
from ..runtime.engine import Engine
from ..runtime.timing import GROUP, Times, race, stepper
from . import Request
from .count import cost
from .models import chosen, graphs
from .table import Column, Table

COLUMNS = (
    Column("model", "model"),
    Column("p50", "p50 µs", ".0f", 1e6),
    Column("p90", "p90", ".0f", 1e6),
    Column("p99", "p99", ".0f", 1e6),
    Column("longest", "max", ".0f", 1e6),
    Column("rtf", "RTF", ".4f"),
    Column("yardsticks", "yardsticks", ".0f"),
    Column("deadline_misses", "deadline misses", ".2%"),
    Column("memory_bytes", "memory MB", ".0f", 1e-6),
    Column("state_bytes", "state KiB", ".0f", 1 / 1024),
    Column("params", "params", ",.0f"),
    Column("macs", "MMAC/s", ".0f", 1e-6),
    Column("operators", "operators", ".0f"),
    Column("latency", "latency ms", ".0f", 1e3),
)

MOST_DIGITS = 12  # of the number of parameters
YARDSTICK = np.random.default_rng(0).standard_normal((128, 128)).astype(np.float32)

PEAK = """
import sys, numpy, qse
session = qse.Engine(sys.argv[1], fast=sys.argv[3] == "True").session()
for _ in range(50):
    session.step(numpy.zeros(int(sys.argv[2]), numpy.float32))
if sys.platform == "linux":  # where ru_maxrss includes the parent's memory
    with open("/proc/self/status") as status:
        print(1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
else:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def bench(request: Request) -> Table:
    """Time every model of the request (names, paths, recipes), or all trained ones, in turn; a
    model of two grids of frames also in its faster form."""
    with graphs(chosen(request.models)) as paths:
        engines = {}
        for name, path in paths.items():
            engines[name] = Engine(path, request.threads)
            if engines[name].second_grid:
                engines[f"{name}, fast"] = Engine(path, request.threads, fast=True)
        calls = {name: stepper(engine) for name, engine in engines.items()}
        calls["yardstick"] = partial(np.einsum, "ij,jk->ik", YARDSTICK, YARDSTICK)
        times = race(calls, request.seconds, group=GROUP)
        yardstick = times.pop("yardstick").median
        rows = []
        for name, engine in engines.items():
            rows.append({"model": name, **_row(engine, times[name], yardstick)})
    notes = (
        "RTF: processing time / audio time of all hops. Deadline miss: "
        "a hop that takes longer than its duration.",
        "Yardsticks: products of two 128 x 128 matrices by numpy.einsum, here "
        f"{1e6 * yardstick:.0f} µs each, that take as long as a second of audio.",
        "Memory: peak of a process that imports qse and runs this model.",
    )
    return Table("stream", COLUMNS, rows, machine(request.threads), notes)


def _row(engine: Engine, times: Times, yardstick: float) -> dict[str, float | int | None]:
    hop = engine.hop_length / engine.sample_rate
    try:
        counted = asdict(cost(engine.path, grids=2 if engine.second_grid else 1))
    except QseError:  # report the times without it
        counted = {}
    return {
        "p50": times.median,
        "p90": times.quantile(0.9),
        "p99": times.quantile(0.99),
        "longest": times.longest,
        "rtf": times.mean / hop,
        "yardsticks": times.mean / hop / yardstick,
        "deadline_misses": float((times.seconds > hop).mean()),
        "memory_bytes": _peak_memory(engine),
        "params": _params(engine.metadata.get("params", "")),
        "latency": engine.delay,
        "hops": len(times.seconds),
        **counted,
    }


def _params(text: str) -> int | None:
    """Return the number of parameters in the metadata, None where they hold none: those of a
    foreign graph may hold anything."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return (int(text) or None) if is_number else None


def _peak_memory(engine: Engine) -> int | None:
    """Return the peak memory of a fresh process in bytes,
    or None if the system does not report it."""
    fast = str(engine.options["fast"])
    command = [sys.executable, "-P", "-c", PEAK, str(engine.path), str(engine.hop_length), fast]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else None
