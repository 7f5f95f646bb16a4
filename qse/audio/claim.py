"""Claim a file that is about to be written, so that a second process with the same target is
refused when it begins.

A claim is a lock on a hidden file beside the target, which holds the name of the temporary file.
The system releases the lock when the process ends, however it ends; a hidden file that a killed
process left is no claim, and the next process with the same target removes it.
"""

import errno
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .folder_path import held_folder
from .held_folder import HeldFolder

if os.name == "nt":
    import msvcrt
else:
    import fcntl

WAIT = 0.5  # seconds between two attempts to claim a file
PART = re.compile(r"\.qse-[0-9a-f]{16}\.part")  # names of temporary files


class Claimed(Exception):
    """Another process, or another thread, is writing the file."""


def is_own(descriptor: int) -> bool:
    """Return whether an open file belongs to this user."""
    return os.name == "nt" or os.fstat(descriptor).st_uid == os.geteuid()


class Claim:
    """A locked file; `name`: in its folder."""

    def __init__(self, name: str, file: IO[bytes]):
        self.name = name
        self._file = file
        # the file of another user may hold anything, and is not changed
        self._is_own = is_own(file.fileno())

    def record(self, part: str) -> None:
        """Write the name of the temporary file, before it is made."""
        if self._is_own:
            with suppress(OSError):  # a full disk shows at the file itself
                self._file.seek(0)
                self._file.truncate()
                self._file.write(part.encode())

    def recorded(self) -> str | None:
        """Return the name of a temporary file that a killed process has left, None if there is
        none."""
        self._file.seek(0)
        text = self._file.read(100).decode("ascii", "replace") if self._is_own else ""
        return text if PART.fullmatch(text) else None


@contextmanager
def claim_in(folder: HeldFolder, name: str) -> Iterator[Claim | None]:
    """Hold the claim to the file `name` in a folder.

    Raises Claimed at once if another one holds it, OSError if the hidden file cannot be opened or
    is no regular file. On a file system without locks there are no claims: yield None.
    """
    hidden = f".qse-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}.lock"
    file, locked = _opened(folder, hidden)
    try:
        yield Claim(hidden, file) if locked else None
    finally:
        if os.name == "nt":  # where an open file cannot be removed
            file.close()
        with suppress(OSError):  # on Windows, if another process has claimed it meanwhile
            # elsewhere while it is locked: a process that has opened it detects that it is gone
            folder.remove(hidden)
        file.close()


@contextmanager
def claim(path: Path) -> Iterator[Claim | None]:
    """Hold the claim to `path`; see `claim_in`."""
    with held_folder(path) as (folder, name), claim_in(folder, name) as held:
        yield held


@contextmanager
def claim_in_turn(path: Path) -> Iterator[None]:
    """Hold the claim to `path`; wait while another one has it."""
    while True:
        try:
            with claim(path):
                yield
            return
        except Claimed:
            time.sleep(WAIT)


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


def open_lock(folder: HeldFolder, name: str) -> IO[bytes]:
    """Open a file to be locked, and make it if there is none. Raises OSError if it is anything
    but a regular file under one name."""
    fault = f"its lock {folder.path / name} is no regular file: remove it"
    try:
        descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
    except OSError as error:  # a link, a socket, a folder, anything else
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.EINVAL):
            raise OSError(errno.EINVAL, fault, name) from error
        raise
    if os.fstat(descriptor).st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EINVAL, fault, name)
    return os.fdopen(descriptor, "r+b", buffering=0)


def _opened(folder: HeldFolder, hidden: str) -> tuple[IO[bytes], bool]:
    """Return `hidden` open, and whether it is locked: it is not where there are no locks."""
    while True:
        file = open_lock(folder, hidden)
        try:
            held = lock(file)
        except OSError:
            return file, False
        if not held:
            file.close()
            raise Claimed
        state = folder.state(hidden)
        if state and os.path.samestat(os.fstat(file.fileno()), state):
            return file, True
        file.close()  # its holder has removed it after it was opened here
