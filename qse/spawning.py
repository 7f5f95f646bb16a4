"""Start processes of Python that import nothing from the working folder by themselves.

A new process looks there first for the modules with which it begins, and others may have put some
there. It gets the places for all other modules from the process that starts it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess

SAFE = "PYTHONSAFEPATH"  # environment variable


def spawning() -> SpawnContext:
    """Return the context of such processes, as of `multiprocessing`."""
    if os.name == "posix":
        with safe_path():
            resource_tracker.ensure_running()
    return _Spawning()


@contextmanager
def safe_path() -> Iterator[None]:
    """Let processes that begin meanwhile import nothing from the working folder."""
    former = os.environ.get(SAFE)
    os.environ[SAFE] = "1"
    try:
        yield
    finally:
        if former is None:
            os.environ.pop(SAFE)
        else:
            os.environ[SAFE] = former


class _Process(SpawnProcess):
    def start(self) -> None:
        with safe_path():
            super().start()


class _Spawning(SpawnContext):
    Process = _Process
