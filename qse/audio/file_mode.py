"""Give a new file permissions that are no wider than those of its source."""

import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

MASK = os.umask(0o077)  # read once: there is no way to read it without setting it
os.umask(MASK)
ACL = "system.posix_acl_access"
ACL_HEAD = 4  # bytes before its lines
ENTRY = struct.Struct("<HH4x")  # of whom a line tells, and permissions
OWNER = 1
OWNER_ALONE = Path(os.devnull)  # in place of a source: sound of a microphone


def set_mode(descriptor: int, replaced: os.stat_result | None, source: Path | None) -> None:
    """Give the temporary file the permissions of a new one, or of the own file that it replaces,
    without those that others do not have on `source`, which may be OWNER_ALONE."""
    if not hasattr(os, "fchmod"):
        return
    own = os.fstat(descriptor)
    mode = 0o666 & ~MASK
    if replaced and stat.S_ISREG(replaced.st_mode):
        before = stat.S_IMODE(replaced.st_mode) & 0o777
        mode = before if replaced.st_uid == own.st_uid else mode & before
    with suppress(OSError):  # the file system has no permissions
        os.fchmod(descriptor, mode & (allowed(source, own.st_gid) if source else 0o777))


def is_wider(descriptor: int, source: Path) -> bool:
    """Return whether an open file has permissions that others do not have on `source`."""
    own = os.fstat(descriptor)
    mode = stat.S_IMODE(own.st_mode) & 0o777
    return hasattr(os, "fchmod") and bool(mode & ~allowed(source, own.st_gid))


def restrict(path: Path, source: Path | None) -> None:
    """Take from a file the permissions that others do not have on `source`, as `set_mode`."""
    if source and hasattr(os, "fchmod"):
        state = path.stat()
        path.chmod(stat.S_IMODE(state.st_mode) & allowed(source, state.st_gid))


def strictest(sources: Iterable[Path]) -> Path | None:
    """Return the one of several files whose permissions a file made of all may have; OWNER_ALONE
    where there is no such one, None if there are no files. Raises OSError."""
    files: dict[tuple[int, int], Path] = {}
    for path in sources:
        files.setdefault(_shared_with(path), path)
    for own, path in files.items():
        if all(_covers(other, own) for other in files):
            return path
    return OWNER_ALONE if files else None


def _shared_with(path: Path) -> tuple[int, int]:
    """Return the permissions of group and others, and the group; for a list of people (ACL) those
    of all."""
    if path == OWNER_ALONE:
        return 0, 0
    state = path.stat()
    listed = _listed(path)
    mode = _of_all(state.st_mode, listed) if listed else state.st_mode & 0o077
    return mode, state.st_gid


def _covers(other: tuple[int, int], own: tuple[int, int]) -> bool:
    """Return whether whoever may read a file with `own` permissions may read `other`, too."""
    wanted = (own[0] >> 3 | own[0]) & 0o007
    of_all = (wanted << 3 | wanted) & ~other[0] == 0
    return of_all or (own[1] == other[1] and own[0] & ~other[0] == 0)


def _of_all(mode: int, listed: tuple[int, ...]) -> int:
    """Return the permissions of others and of any group: what nobody but the owner lacks. listed:
    as of `_listed`."""
    common = mode >> 3 & mode & 0o007
    for permissions in listed:
        common &= permissions
    return common << 3 | common


def _listed(path: Path | int) -> tuple[int, ...]:
    """Return the permissions of each line but the owner's in the list of people (ACL) of a file;
    none without one. Raises OSError."""
    if not hasattr(os, "listxattr") or ACL not in os.listxattr(path):
        return ()
    lines = ENTRY.iter_unpack(os.getxattr(path, ACL)[ACL_HEAD:])
    return tuple(permissions for tag, permissions in lines if tag != OWNER)


def allowed(source: Path | int, group: int) -> int:
    """Return the permissions that a copy of `source`, a path or a descriptor, may have, which
    belongs to `group`. Raises OSError."""
    if source == OWNER_ALONE:
        return 0o600
    state = os.stat(source)
    mode = state.st_mode & 0o777
    listed = _listed(source)
    # the bits of the group are those of other people
    if state.st_gid != group or listed:
        mode = mode & 0o700 | _of_all(mode, listed)
    return mode | 0o600


def allowed_of(file: Any, group: int) -> int:
    """Return the permissions that a copy of what an object reads may have, which belongs to
    `group`: of a pipe, or of bytes in memory, all; of a file that it does not tell, as that of an
    archive, those of its owner alone. Raises OSError."""
    if isinstance(file, BytesIO):
        return 0o666
    try:
        number = file.fileno()
        is_file = stat.S_ISREG(os.fstat(number).st_mode)
    except (OSError, ValueError, AttributeError, TypeError):  # closed, or no file of the system
        return 0o600
    return allowed(number, group) if is_file else 0o666
