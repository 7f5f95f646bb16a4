"""Describe the machine on which times are measured."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import ceil
from pathlib import Path

from .control_group import cpu_quota

PACKAGES = ("qse-speech", "numpy", "onnxruntime", "torch")


@dataclass(frozen=True)
class Machine:
    """Processor, cores, threads used, load average over a minute, and versions of Python and
    packages."""

    processor: str
    cores: int
    threads: int
    load: float
    python: str
    packages: dict[str, str]

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        threads = f"{self.threads} thread" + "s" * (self.threads != 1)
        return f"{self.processor}, {self.cores} cores, {threads}, load {self.load:.1f}; {packages}"


def machine(threads: int) -> Machine:
    """Return a description of this machine; `threads` is the number that the measurement uses."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    packages = {}
    for name in PACKAGES:
        version = _version(name)
        if version:
            packages[name] = version
    return Machine(
        processor(), os.cpu_count() or 1, threads, load, platform.python_version(), packages
    )


def cores() -> int:
    """Return the number of cores that this process may use: those that it may run on, or as many
    as the quota of a container is worth, rounded up."""
    available = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    return max(1, min(available, ceil(cpu_quota())))


def processor() -> str:
    """Return the name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
