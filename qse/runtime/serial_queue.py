"""Run calls one after another in the threads of a pool that other queues use too."""

from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from typing import Any


class SerialQueue:
    """Run calls in the order in which they come, each when the one before has ended. No thread
    waits for its turn, so any number of queues may share a pool."""

    def __init__(self, pool: Executor | None):
        """`pool`: without one, a call runs at once, in the thread that asks for it."""
        self._pool = pool
        self._last: Future = Future()
        self._last.set_result(None)
        self.is_closed = False

    def call(self, function: Callable, *arguments: Any) -> Future:
        """Return the future of a call."""
        future: Future = Future()

        def run() -> None:
            if self.is_closed:
                future.cancel()
                future.set_running_or_notify_cancel()
                return
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)

        def submit(_: Future) -> None:
            if self._pool is None:
                return run()
            try:
                self._pool.submit(run)
            except RuntimeError as error:  # the pool, or the interpreter, is shutting down
                future.set_exception(error)

        before = self._last
        self._last = future
        before.add_done_callback(submit)
        return future

    def close(self) -> None:
        """Cancel the calls that have not begun; return when none runs any more."""
        self.is_closed = True
        wait([self._last])
