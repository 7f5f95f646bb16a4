"""Start processes of Python that import nothing from the working folder by themselves.

A new process looks there first for the modules with which it begins, and others may have put some
there. It gets the places for all other modules from the process that starts it.
"""

import os
from contextlib import AbstractContextManager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess

from .environment import environment


def spawning() -> SpawnContext:
    """Return the context of such processes, as of `multiprocessing`."""
    if os.name == "posix":
        with safe_path():
            resource_tracker.ensure_running()
    return _Spawning()


def safe_path() -> AbstractContextManager[None]:
    """Let processes that begin meanwhile import nothing from the working folder."""
    return environment("PYTHONSAFEPATH", "1")


class _Process(SpawnProcess):
    def start(self) -> None:
        with safe_path():
            super().start()


class _Spawning(SpawnContext):
    Process = _Process
