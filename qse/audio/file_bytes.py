"""Read a file like bytes, with a part of it in memory at a time.

A memory map ends the process (SIGBUS) when someone shortens the file meanwhile; this only ends
early. It also holds less memory.
"""

import os
import re
from typing import IO

PART = 1 << 18  # bytes that are read at a time
ZEROS = re.compile(rb"\0*")


class FileBytes:
    """The bytes of an open file, or of those from `first` to `stop`: slices, their number, and
    searches; each raises OSError.

    A file that becomes shorter has fewer bytes in its slices than its length says.
    """

    def __init__(self, file: IO[bytes], first: int = 0, stop: int | None = None):
        self._file = file
        size = os.fstat(file.fileno()).st_size
        self._first = first
        self._length = max(0, min(size if stop is None else stop, size) - first)
        self._begin = 0
        self._part = b""

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: slice) -> bytes:
        start = 0 if place.start is None else place.start
        stop = self._length if place.stop is None else min(place.stop, self._length)
        if start >= stop:
            return b""
        at = self._hold(start, stop - start)
        return self._part[at : at + stop - start]

    def find(self, wanted: bytes, start: int, stop: int | None = None) -> int:
        """Return where `wanted` begins first at `start` or later, and ends at `stop` at last; -1 if
        it does not."""
        stop = self._length if stop is None else min(stop, self._length)
        while start + len(wanted) <= stop:
            at = self._hold(start, len(wanted))
            end = min(stop - self._begin, len(self._part))
            found = self._part.find(wanted, at, end)
            if found >= 0:
                return self._begin + found
            if end - at < len(wanted):  # the file became shorter
                break
            start = self._begin + end - len(wanted) + 1
        return -1

    def search(self, pattern: re.Pattern[bytes], start: int, length: int) -> int:
        """Return where `pattern` matches first at `start` or later, -1 if it does not.

        length: bytes of every match.
        """
        while start + length <= self._length:
            at = self._hold(start, length)
            if found := pattern.search(self._part, at):
                return self._begin + found.start()
            if len(self._part) - at < length:
                break
            start = self._begin + len(self._part) - length + 1
        return -1

    def behind_zeros(self, start: int, stop: int) -> int:
        """Return where the zeros that begin at `start` end, `stop` at most."""
        while start < stop:
            at = self._hold(start, 1)
            end = min(stop - self._begin, len(self._part))
            zeros = ZEROS.match(self._part, at, end)
            behind = zeros.end() if zeros else at
            start = self._begin + behind
            if behind < end or behind == at:
                break
        return start

    def _hold(self, start: int, count: int) -> int:
        """Take bytes from `start` on into memory, unless they are there; return their place in the
        part that is."""
        stop = min(start + count, self._length)
        if start < self._begin or stop > self._begin + len(self._part):
            self._file.seek(self._first + start)
            count = max(PART, stop - start)
            self._part = self._file.read(min(count, self._length - start))
            self._begin = start
        return start - self._begin
