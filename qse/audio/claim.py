"""Claim a file that is about to be written, so that a second process with the same target is
refused when it begins.

A claim is a lock on a hidden file beside the target. The system releases the lock when the process
ends, however it ends; a hidden file that a killed process left is no claim, and the next process
with the same target removes it.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

if os.name == "nt":
    import msvcrt
else:
    import fcntl


class Claimed(Exception):
    """Another process, or another thread, is writing the file."""


@contextmanager
def claim(path: Path) -> Iterator[Path | None]:
    """Hold the claim to `path`; yield the hidden file that is locked.

    Raises Claimed at once if another one holds it.

    On a file system without locks there are no claims: yield None.
    """
    hidden = path.with_name(f".qse-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:8]}.lock")
    file, locked = _opened(hidden)
    try:
        yield hidden if locked else None
    finally:
        if os.name == "nt":  # where an open file cannot be removed
            file.close()
        with suppress(OSError):  # on Windows, if another process has claimed it meanwhile
            # elsewhere while it is locked: a process that has opened it detects that it is gone
            hidden.unlink()
        file.close()


def held(path: Path, taken: Exception) -> ExitStack:
    """Return the claim to `path`, which ends with the context. Raises `taken` if another one holds
    it."""
    stack = ExitStack()
    try:
        stack.enter_context(claim(path))
    except Claimed as error:
        raise taken from error
    return stack


def lock(file: IO[bytes]) -> bool:
    """Lock an open file until it is closed or the process ends; return False if it is locked
    already.

    Raises OSError on a file system without locks.
    """
    try:
        if os.name == "nt":
            lock: Any = msvcrt  # of Windows alone
            lock.locking(file.fileno(), lock.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _opened(hidden: Path) -> tuple[IO[bytes], bool]:
    """Return `hidden` open, and whether it is locked: it is not where there are no locks."""
    while True:
        file = hidden.open("ab")
        try:
            held = lock(file)
        except OSError:
            return file, False
        if not held:
            file.close()
            raise Claimed
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), hidden.stat()):
                return file, True
        file.close()  # its holder has removed it after it was opened here
