"""Start processes of Python that import nothing from the working folder by themselves.

A new process looks there first for the modules with which it begins, and others may have put some
there. It gets the places for all other modules from the process that starts it.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Lock

from .environment import environment

_lock = Lock()
_holders: list[object] = []  # one for each context that is entered
_environment = ExitStack()


def spawning() -> SpawnContext:
    """Return the context of such processes, as of `multiprocessing`."""
    if os.name == "posix":
        with safe_path():
            resource_tracker.ensure_running()
    return _Spawning()


@contextmanager
def safe_path() -> Iterator[None]:
    """Let processes that begin meanwhile import nothing from the working folder; several threads
    may do so at a time."""
    with _lock:
        if not _holders:
            _environment.enter_context(environment("PYTHONSAFEPATH", "1"))
        _holders.append(None)
    try:
        yield
    finally:
        with _lock:
            _holders.pop()
            if not _holders:
                _environment.close()


class _Process(SpawnProcess):
    def start(self) -> None:
        with safe_path():
            super().start()


class _Spawning(SpawnContext):
    Process = _Process
