"""Scores of signals that are in memory already."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .metrics import SAMPLE_RATE, check_names, score_pair
from .runner import LOST, run_tasks
from .store import Row


def score(
    pairs: Iterable[tuple[np.ndarray | None, np.ndarray]],
    *,
    sample_rate: int = SAMPLE_RATE,
    metrics: Iterable[str] = ("pesq_wb", "stoi", "si_sdr"),
    jobs: int | None = 0,
) -> list[Row]:
    """One row per (clean, enhanced), in their order: {"name": place, metric: value ...}, or "error" where it failed.

    Arrays are float (samples,) at 16 kHz, both of one length. jobs = 0 works in this process, None on all cores; the
    processes take about two seconds to start, and a script that asks for them needs `if __name__ == "__main__"`.
    """
    metrics = tuple(metrics)
    check_names(metrics)
    tasks = [(place, clean, enhanced, sample_rate, metrics) for place, (clean, enhanced) in enumerate(pairs)]
    return sorted(run_tasks(_score_task, tasks, jobs, _lost_task), key=lambda row: row["name"])


def _score_task(task: tuple[Any, ...]) -> Row:
    place, clean, enhanced, sample_rate, metrics = task
    try:
        scores = score_pair(clean=clean, enhanced=enhanced, sample_rate=sample_rate, metrics=metrics)
    except ValueError as reason:
        return {"name": place, "error": str(reason)}
    return {"name": place, **scores}


def _lost_task(task: tuple[Any, ...]) -> Row:
    return {"name": task[0], "error": LOST}
