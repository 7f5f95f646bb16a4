"""Collect what a process prints to standard error."""

import re
from collections import deque
from threading import Lock, Thread
from typing import IO

MOST = 1 << 19  # bytes of the first messages, and of the last ones
LONGEST = 1 << 12  # bytes of a line


class Messages:
    """The lines that a process prints, of which memory holds the first and the last: damage may
    print as many as it likes."""

    def __init__(self, pipe: IO[bytes], wanted: re.Pattern[bytes] | None = None):
        """`wanted`: found in lines that are kept; all are if that is None."""
        self._wanted = wanted
        self._first = bytearray()
        self._last: deque[bytes] = deque()
        self._size = 0  # bytes of the last ones
        self._lock = Lock()
        self._thread = Thread(target=self._collect, args=(pipe,), daemon=True)
        self._thread.start()

    def read(self) -> bytes:
        """Return what has been kept so far."""
        with self._lock:
            return bytes(self._first) + b"".join(self._last)

    def wait(self) -> None:
        """Return when the process has closed its end."""
        self._thread.join()

    def _collect(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(LONGEST):
                if self._wanted is None or self._wanted.search(line):
                    self._keep(line)

    def _keep(self, line: bytes) -> None:
        with self._lock:
            if len(self._first) < MOST:
                self._first += line
                return
            self._last.append(line)
            self._size += len(line)
            while self._size > MOST:
                self._size -= len(self._last.popleft())
