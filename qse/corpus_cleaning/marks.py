"""Remember which enhanced files runs with a manifest have begun: only such may be replaced.

A mark is bound to its file, so that it holds for no copy of that, to the path of the manifest, so
that it holds for no other one, and to a secret of the user, so that nobody can put marks into a
folder for others.
"""

import hmac
import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import mkstemp
from threading import Lock
from typing import IO

from ..audio.claim import is_own
from ..audio.folder_path import open_found
from ..errors import QseError
from ..user_folders import cache_folder

MARK = 16  # characters
TAKEN_BACK = "-"  # in front of a mark that holds no more
SECRET = 32  # bytes


class Marks:
    """The marks in an open file that this process has locked; none are read from, or written to,
    that of another user, which may hold anything. manifest: its path, for which they hold."""

    def __init__(self, file: IO[bytes], manifest: Path):
        self._file = file
        bound = f"{os.fstat(file.fileno()).st_ino} {os.path.realpath(manifest)}"
        self._key = hmac.digest(_secret(), os.fsencode(bound), "sha256")
        self._is_own = is_own(file.fileno())
        self._held = self._read() if self._is_own else set()
        self._new: dict[str, Path] = {}  # targets by their marks of this run
        self._marking = Lock()

    def begin(self, target: Path, overwrite: bool) -> bool:
        """Note that a file is being written; return whether it may replace one that is there: by
        `overwrite`, or because runs with this manifest have begun that."""
        mark = self._mark(target)
        with self._marking:
            is_begun = mark in self._held
            if not is_begun and (overwrite or not os.path.lexists(target)):
                self._held.add(mark)
                self._new[mark] = target
                self._write(mark)
        return is_begun or overwrite

    def forget(self, target: Path) -> None:
        """Take back the mark of a file that was not written: one that is there all the same, or
        later, is of another program. An earlier run may have written what its mark is for."""
        mark = self._mark(target)
        with self._marking:
            if mark in self._new or not os.path.lexists(target):
                self._take_back(mark)

    def end(self) -> None:
        """Take back the marks of this run's files that were given up."""
        for mark, target in list(self._new.items()):
            if not os.path.lexists(target):
                self._take_back(mark)

    def _take_back(self, mark: str) -> None:
        self._new.pop(mark, None)
        if mark in self._held:
            self._held.discard(mark)
            self._write(f"{TAKEN_BACK}{mark}")

    def _mark(self, target: Path) -> str:
        return hmac.digest(self._key, os.fsencode(target), "sha256").hex()[:MARK]

    def _read(self) -> set[str]:
        self._file.seek(0)
        marks = set()
        for mark in self._file.read().decode("ascii", "replace").split():
            if mark.startswith(TAKEN_BACK):
                marks.discard(mark.removeprefix(TAKEN_BACK))
            else:
                marks.add(mark)
        return marks

    def _write(self, mark: str) -> None:
        if self._is_own:
            self._file.seek(0, os.SEEK_END)
            self._file.write(f"{mark}\n".encode())


@cache
def _secret() -> bytes:
    """Return what only this user knows, made once, in the folder for caches; something else for
    each process where that cannot be written, or others have put another file there."""
    with suppress(OSError, QseError):
        path = cache_folder() / "secret"
        if not path.exists():
            _make(path)
        with open(path, "rb", opener=open_found) as file:
            secret = file.read(SECRET + 1)
            readable = os.name != "nt" and os.fstat(file.fileno()).st_mode & 0o077
            if len(secret) == SECRET and is_own(file.fileno()) and not readable:
                return secret
    return secrets.token_bytes(SECRET)


def _make(path: Path) -> None:
    """Write a secret that its owner alone can read, unless another process does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = mkstemp(prefix=".qse-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(SECRET))
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        os.unlink(part)
