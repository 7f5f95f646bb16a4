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
from itertools import islice
from multiprocessing import parent_process
from threading import Thread
from typing import Any

from ..errors import QseError
from ..spawning import spawning

SINGLE_THREADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

IN_ONE = "take jobs=0"
NO_START = (
    "no process for the scores can be started: a script that asks for several needs "
    '`if __name__ == "__main__":` before what it runs; or '
)

_function: Callable  # of a worker process, set once at its start


def spread(
    function: Callable,
    tasks: Iterable,
    jobs: int,
    crashed: Callable[[Any], Any],
    in_one: str = IN_ONE,
) -> Iterator[Any]:
    """Yield function(task) in the order of completion, `jobs` tasks at a time, each process on one
    thread.

    Tasks are taken while others run, at most 2 * jobs of them ahead. Function, tasks and results
    must be picklable; the function is sent to each process once. An exception of the function ends
    the run and is raised here; a task that ends its process gives crashed(task) instead. Raises
    QseError if no process can be started; `in_one` says how to do without.
    """
    rest = iter(tasks)
    todo = deque(islice(rest, 1))
    while todo:
        running: dict[Future, Any] = {}
        try:
            with _processes(jobs, function, in_one) as pool:
                _check_start(pool, in_one)
                yield from _drain(pool, todo, rest, running, 2 * jobs)
        except BrokenProcessPool:
            for task in running.values():
                yield _alone(function, task, crashed, in_one)
            todo.extend(islice(rest, 1))


def _drain(
    pool: ProcessPoolExecutor, todo: deque, rest: Iterator, running: dict, most: int
) -> Iterator[Any]:
    """Yield the results of `todo`, at most one task, and of `rest`.

    A task leaves `todo` for `running` when the pool has taken it.
    """
    try:
        while todo or running:
            while todo and len(running) < most:
                future = pool.submit(_call, todo[0])
                running[future] = todo.popleft()
                todo.extend(islice(rest, 1))
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                del running[future]
                yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alone(function: Callable, task: Any, crashed: Callable[[Any], Any], in_one: str) -> Any:
    try:
        with _processes(1, function, in_one) as pool:
            _check_start(pool, in_one)
            return pool.submit(_call, task).result()
    except BrokenProcessPool:
        return crashed(task)


def _check_start(pool: ProcessPoolExecutor, in_one: str) -> None:
    """Raise QseError if the processes end at once.

    Before Python 3.11.7, a task larger than a pipe holds that is sent to such a process blocks the
    pool for good (python/cpython#94777).
    """
    try:
        pool.submit(bool).result()  # any function
    except BrokenProcessPool as error:
        raise QseError(NO_START + in_one) from error


def _processes(jobs: int, function: Callable, in_one: str) -> ProcessPoolExecutor:
    # the limit of Windows' WaitForMultipleObjects
    jobs = min(jobs, 61) if sys.platform == "win32" else jobs
    return ProcessPoolExecutor(jobs, spawning(), _start_worker, (_sent(function, in_one),))


def _sent(function: Callable, in_one: str) -> bytes:
    """Return what other processes are sent. Raises QseError for a function that only this process
    has."""
    try:
        return pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        reason = f"a function that other processes run cannot be sent to them ({error})"
        raise QseError(f"{reason}: {in_one}, or define it at the top of a module") from error


def _start_worker(function: bytes) -> None:
    """Use one thread, ignore SIGINT (the parent handles it), end with the parent, then unpickle the
    function, which imports its modules."""
    global _function
    os.environ.update(dict.fromkeys(SINGLE_THREADED, "1"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _function = pickle.loads(function)


def end_with_parent() -> None:
    """End this process when the one that started it has ended, even if that was killed."""
    Thread(target=_end_after_parent, daemon=True).start()


def _end_after_parent() -> None:
    parent = parent_process()
    if parent:
        parent.join()
        os._exit(0)


def _call(task: Any) -> Any:
    return _function(task)
