"""Choose what an evaluation leaves open: its metrics and its sample rate."""

from collections.abc import Iterable

from ..data.datasets import Pair
from ..errors import UsageError
from ..extras import need
from .metrics import METRICS, plain_name
from .named_metrics import resolve
from .reading import common_rate
from .signals import NARROW_BAND, SAMPLE_RATE
from .system import System


def choose_metrics(
    metrics: str | Iterable[str], has_clean: bool, sample_rate: int = SAMPLE_RATE
) -> list[str]:
    """Return the metrics of a list of names, comma-separated or not; "all" stands for those that
    the data allow, which come first.

    Raises UsageError for one that is unknown or not possible.
    """
    given = _names(metrics)
    named = [name for name in given if plain_name(name) != "all"]
    wanted = _resolved(named)
    referenced = []
    possible = []
    for name, metric in METRICS.items():
        if has_clean or not metric.needs_clean:
            referenced.append(name)
            if metric.least_rate <= sample_rate:
                possible.append(name)
    names = wanted
    if len(named) < len(given):
        every = [name for name in possible if not METRICS[name].on_request]
        names = list(dict.fromkeys([*every, *wanted]))
    for name in names:
        if name not in referenced:
            others = ", ".join(possible) or "none"
            raise UsageError(f"{name} needs the clean files: give them, or choose from {others}")
        if name not in possible:
            least = METRICS[name].least_rate
            raise UsageError(f"{name} needs files at {least} Hz or more, not {sample_rate} Hz")
    if not names:
        raise UsageError(f"no metric is possible at {sample_rate} Hz without clean files")
    return names


def need_packages(names: Iterable[str]) -> None:
    """Import the packages of metrics. Raises MissingExtra for one that is not installed."""
    for name in names:
        if METRICS[name].package:
            need(METRICS[name].package)


def own_rate(system: System, pairs: list[Pair]) -> int:
    """Return the rate at which a system is evaluated by default.

    That is the rate of the files if all have the same above 16 kHz, and the system's output has it
    too; 8 kHz if all files, or an output, are below 16 kHz; else 16 kHz.
    """
    files = common_rate(pairs)
    rate = system.rate_for(files or SAMPLE_RATE)
    if files and min(files, rate) < SAMPLE_RATE:
        return NARROW_BAND
    return files if files == rate else SAMPLE_RATE


def _names(metrics: str | Iterable[str]) -> list[str]:
    if not isinstance(metrics, str):
        return list(metrics)
    return [name for name in metrics.split(",") if name.strip() or "," not in metrics]


def _resolved(names: Iterable[str]) -> list[str]:
    try:
        return resolve(names)
    except ValueError as reason:
        raise UsageError(str(reason)) from reason
