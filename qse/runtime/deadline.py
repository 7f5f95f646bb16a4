"""Wait for ONNX Runtime no longer than a limit, where its calls cannot be ended."""

from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

from ..errors import QseError

T = TypeVar("T")

LOADING = 60.0  # seconds until a graph is loaded
TICK = 0.2

_abandoned = False


def within(seconds: float, call: Callable[[], T], path: Path) -> T:
    """Return what `call` returns, which runs in a thread of its own.

    Raises what it raises, and QseError after `seconds`: then the thread goes on, and the process
    can only be ended by `os._exit`; see `is_abandoned`.
    """
    global _abandoned
    results: list[T] = []
    errors: list[BaseException] = []
    done = Event()

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        done.set()

    Thread(target=work, daemon=True).start()
    begun = monotonic()
    _abandoned = True  # also where a signal interrupts the waiting
    while not done.wait(TICK):
        if monotonic() - begun > seconds:
            raise QseError(f"{path} took longer than {seconds:g} s to load: choose another model")
    _abandoned = False
    if errors:
        raise errors[0]
    return results[0]


def is_abandoned() -> bool:
    """Return whether ONNX Runtime still works at something that nobody waits for."""
    return _abandoned
