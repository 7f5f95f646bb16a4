"""Pool room: one function over many tasks, on all cores, in processes that may die without harm.

PESQ's reference code ends its process on some recordings (more than about 50 separate stretches of speech). Whatever
task was running then is tried once more alone; what dies again is handed to `lost`, and the others go on.

This file imports nothing heavy: a worker sets its environment before NumPy comes up.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def spread(function: Callable, tasks: Iterable, jobs: int, lost: Callable[[Any], Any]) -> Iterator[Any]:
    """Results of function(task) as they come, `jobs` tasks at a time, each process on one thread.

    Function, tasks and results must pickle. An exception of the function ends the run and is raised here; a task that
    kills its process gives lost(task) instead.
    """
    todo = deque(tasks)
    while todo:
        running: dict[Future, Any] = {}
        try:
            with _processes(jobs) as pool:
                yield from _drain(pool, function, todo, running, 2 * jobs)
        except BrokenProcessPool:
            yield from [_alone(function, task, lost) for task in running.values()]


def _drain(pool: ProcessPoolExecutor, function: Callable, todo: deque, running: dict, most: int) -> Iterator[Any]:
    try:
        while todo or running:
            while todo and len(running) < most:
                future = pool.submit(function, todo[0])
                running[future] = todo.popleft()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                del running[future]
                yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alone(function: Callable, task: Any, lost: Callable[[Any], Any]) -> Any:
    try:
        with _processes(1) as pool:
            return pool.submit(function, task).result()
    except BrokenProcessPool:
        return lost(task)


def _processes(jobs: int) -> ProcessPoolExecutor:
    jobs = min(jobs, 61) if sys.platform == "win32" else jobs  # Windows waits for 64 things at most
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_become_worker)


def _become_worker() -> None:
    """One thread each, and an interruption is the parent's business."""
    os.environ.update(dict.fromkeys(SINGLE_THREADED, "1"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
