"""End calls of ONNX Runtime that take too long, for graphs of unknown origin.

`RunOptions.terminate` acts between two operators: many operators end at the limit, a single one
that takes longer when it is done.
"""

from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from ..errors import QseError

STEP = 10.0  # seconds for one call of a streaming graph, which enhances some milliseconds
SEGMENT = 600.0  # seconds for one call of an offline graph
TICK = 0.2

_watched: "set[Watchdog]" = set()
_lock = Lock()
_thread: Thread | None = None


class Watchdog:
    """Call a graph with the options `options`, which a thread uses to end calls that take longer
    than `limit` seconds."""

    def __init__(self, path: Path, limit: float):
        """`path`: of the graph, for messages."""
        from onnxruntime import RunOptions

        self.options = RunOptions()
        self._path = path
        self._limit = limit
        self._begun = 0.0

    def __enter__(self) -> Any:
        self.options.terminate = False
        self._begun = monotonic()
        _watch(self)
        return self.options

    def __exit__(self, kind: object, error: object, _: object) -> None:
        with _lock:
            _watched.discard(self)
        if not isinstance(error, Exception):
            return
        if self.options.terminate:
            limit = f"took longer than {self._limit:g} s"
            raise QseError(f"{self._path} {limit}: choose another model") from error
        reason = str(error).partition("\n")[0] or type(error).__name__
        cure = "is there enough memory? Try threads=1, or export it again, `qse export`"
        raise QseError(f"{self._path} cannot be run: {reason}; {cure}") from error

    def check(self) -> None:
        """End the call if it has taken too long."""
        if monotonic() - self._begun > self._limit:
            self.options.terminate = True


def _watch(dog: Watchdog) -> None:
    global _thread
    with _lock:
        _watched.add(dog)
        if _thread is None:
            _thread = Thread(target=_patrol, daemon=True)
            _thread.start()


def _patrol() -> None:
    pause = Event()
    while not pause.wait(TICK):
        with _lock:
            for dog in _watched:
                dog.check()
