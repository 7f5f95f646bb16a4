"""Score signals in memory."""

from collections.abc import Iterable
from functools import partial

import numpy as np

from .metric_names import Named
from .named_metrics import resolve
from .runner import crash_of, run_tasks
from .scoring import score_pair
from .signals import SAMPLE_RATE
from .store import Row

Task = tuple[int, np.ndarray | None, np.ndarray]  # index, clean, enhanced


def score(
    pairs: Iterable[tuple[np.ndarray | None, np.ndarray]],
    *,
    sample_rate: int = SAMPLE_RATE,
    metrics: Iterable[Named] = ("pesq_wb", "stoi", "si_sdr"),
    jobs: int | None = 0,
) -> list[Row]:
    """Return one row per (clean, enhanced), in their order: {"name": index, metric: value ...}, or
    "error" for metrics.

    Arrays are float (samples,) of one length per pair. jobs: number of processes; 0: this process,
    None: one per core. Processes take about two seconds to start, and a script that uses them needs
    `if __name__ == "__main__"`.
    """
    names = tuple(resolve(metrics))
    function = partial(_score_task, sample_rate, names)
    crashed = partial(_crashed, names)
    tasks = [(place, clean, enhanced) for place, (clean, enhanced) in enumerate(pairs)]
    return sorted(run_tasks(function, tasks, jobs, crashed), key=lambda row: row["name"])


def _score_task(sample_rate: int, metrics: tuple[str, ...], task: Task) -> Row:
    place, clean, enhanced = task
    try:
        scores = score_pair(
            clean=clean, enhanced=enhanced, sample_rate=sample_rate, metrics=metrics
        )
    except ValueError as reason:
        return {"name": place, "error": str(reason)}
    return {"name": place, **scores}


def _crashed(metrics: tuple[str, ...], task: Task) -> Row:
    return {"name": task[0], "error": crash_of(metrics)}
