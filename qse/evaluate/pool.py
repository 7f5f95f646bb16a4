"""Run one function over many tasks in several processes, and continue when a process crashes.

PESQ's reference code crashes on some recordings (more than about 50 separate utterances). The tasks
that were running then run once more, each in a process of its own; `crashed` gives the result of
one that crashes again.

This file imports nothing heavy: a worker sets its environment before NumPy is imported.
"""

import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from ..errors import QseError

SINGLE_THREADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

IN_ONE = "take jobs=0"
NO_START = (
    "no process for the scores can be started: a script that asks for several needs "
    f'`if __name__ == "__main__":` before what it runs; or {IN_ONE}'
)

_function: Callable  # of a worker process, set once at its start


def spread(
    function: Callable, tasks: Iterable, jobs: int, crashed: Callable[[Any], Any]
) -> Iterator[Any]:
    """Yield function(task) in the order of completion, `jobs` tasks at a time, each process on one
    thread.

    Function, tasks and results must be picklable; the function is sent to each process once. An
    exception of the function ends the run and is raised here; a task that ends its process gives
    crashed(task) instead. Raises QseError if no process can be started.
    """
    todo = deque(tasks)
    while todo:
        running: dict[Future, Any] = {}
        try:
            with _processes(jobs, function) as pool:
                _check_start(pool)
                yield from _drain(pool, todo, running, 2 * jobs)
        except BrokenProcessPool:
            for task in running.values():
                yield _alone(function, task, crashed)


def _drain(pool: ProcessPoolExecutor, todo: deque, running: dict, most: int) -> Iterator[Any]:
    try:
        while todo or running:
            while todo and len(running) < most:
                future = pool.submit(_call, todo[0])
                running[future] = todo.popleft()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                del running[future]
                yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alone(function: Callable, task: Any, crashed: Callable[[Any], Any]) -> Any:
    try:
        with _processes(1, function) as pool:
            _check_start(pool)
            return pool.submit(_call, task).result()
    except BrokenProcessPool:
        return crashed(task)


def _check_start(pool: ProcessPoolExecutor) -> None:
    """Raise QseError if the processes end at once.

    Before Python 3.11.7, a task larger than a pipe holds that is sent to such a process blocks the
    pool for good (python/cpython#94777).
    """
    try:
        pool.submit(_is_started).result()
    except BrokenProcessPool as error:
        raise QseError(NO_START) from error


def _processes(jobs: int, function: Callable) -> ProcessPoolExecutor:
    # the limit of Windows' WaitForMultipleObjects
    jobs = min(jobs, 61) if sys.platform == "win32" else jobs
    return ProcessPoolExecutor(jobs, get_context("spawn"), _start_worker, (_sent(function),))


def _sent(function: Callable) -> bytes:
    """Return what other processes are sent. Raises QseError for a function that only this process
    has."""
    try:
        return pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        reason = f"a function that other processes run cannot be sent to them ({error})"
        raise QseError(f"{reason}: {IN_ONE}, or define it at the top of a module") from error


def _start_worker(function: bytes) -> None:
    """Use one thread, ignore SIGINT (the parent handles it), then unpickle the function, which
    imports its modules."""
    global _function
    os.environ.update(dict.fromkeys(SINGLE_THREADED, "1"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _function = pickle.loads(function)


def _is_started() -> bool:
    return True


def _call(task: Any) -> Any:
    return _function(task)
