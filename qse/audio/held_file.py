"""Notice that somebody writes a file, also where it is moved or removed meanwhile."""

import os
from contextlib import suppress
from pathlib import Path
from typing import IO
from weakref import finalize

from .held_folder import HAS_DESCRIPTORS


def last_change(state: os.stat_result) -> int:
    """Return when a file was changed, in nanoseconds: programs may keep its time when they change
    it, and not the second one."""
    return max(state.st_mtime_ns, state.st_ctime_ns)


class HeldFile:
    """The file at `path`, with its status as it was. named: the path under which others know it,
    where `path` is a link to the open file."""

    def __init__(self, path: Path, state: os.stat_result):
        self.path = path
        self.named = path
        self.state = state
        self._number: int | None = None

    def hold(self, file: IO[bytes]) -> None:
        """Keep the file open as long as this object lives, on systems where that hinders nobody
        from replacing it."""
        if HAS_DESCRIPTORS:
            self._number = os.dup(file.fileno())
            finalize(self, os.close, self._number)

    def is_written(self) -> bool:
        """Return whether somebody has written the file since, or put another one in its place."""
        states = []
        for path in (self.path, self.named):
            with suppress(OSError):
                states.append(path.stat())
        if self._number is not None:
            with suppress(OSError):  # a file server may have forgotten one that was removed
                states.append(os.fstat(self._number))
        before = (self.state.st_size, self.state.st_mtime_ns)
        return any((now.st_size, now.st_mtime_ns) != before for now in states)
