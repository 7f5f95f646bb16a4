"""Make folders for temporary files that only this user can read, write or replace."""

import atexit
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock

from ..environment import environment
from ..errors import QseError
from .file_mode import ACL

Folder = Path | str | int  # a path, or a descriptor
OPENING = Lock()  # TMPDIR is that of the whole process


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a folder in that of temporary files (TMPDIR), removed at the end.

    Raises OSError if it cannot be made, QseError if others could replace it: whoever may write a
    folder that is not sticky may rename what is in it.
    """
    place = os.path.realpath(tempfile.gettempdir())
    stands_in = os.path.samefile(place, os.curdir)  # where no usual folder can be written
    if is_open(place) or (stands_in and is_exchangeable(Path(place) / "qse")):
        raise QseError(
            f"{place} can be written by others, who could exchange temporary files there: "
            "name another folder by TMPDIR"
        )
    with temporary_folder("qse-", place) as folder:
        yield folder


@contextmanager
def temporary_folder(prefix: str, place: Path | str) -> Iterator[Path]:
    """Yield a new folder in `place`, removed at the end, or with this process; processes that were
    forked meanwhile leave it. Raises OSError if it cannot be made."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    process = os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    try:
        yield folder
    finally:
        remove()
        atexit.unregister(remove)


@contextmanager
def temporary_in(folder: Path) -> Iterator[None]:
    """Let packages make temporary files in a private folder: some keep the names of files that they
    have removed, which others could use."""
    with OPENING:
        former = tempfile.tempdir
        tempfile.tempdir = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = former


@contextmanager
def unseen_temporary(subtype: str) -> Iterator[None]:
    """Let libsndfile open the temporary file in which it keeps ALAC until the file is closed, and
    which all could read, in a private folder. It has no name then any more, and ends with the
    process."""
    if os.name == "nt" or not subtype.startswith("ALAC"):
        yield
        return
    with OPENING, private_folder() as folder, environment("TMPDIR", str(folder)):
        yield


def is_shared(folder: Folder) -> bool:
    """Return whether others may make files in a folder: its owner, if that is neither this user nor
    root, or several."""
    if os.name == "nt":
        return False
    return os.stat(folder).st_uid not in (0, os.geteuid()) or _is_of_several(folder)


def _is_of_several(folder: Folder) -> bool:
    state = os.stat(folder)
    if state.st_mode & stat.S_IWOTH:
        return True
    if not state.st_mode & stat.S_IWGRP:
        return False
    # with a list of people (ACL), these bits are those of all of them
    return not _is_of_user_alone(state.st_gid) or _has_list(folder)


def _has_list(folder: Folder) -> bool:
    if not hasattr(os, "listxattr"):
        return False
    # a descriptor that is none to read from has no attributes itself
    named = f"/proc/self/fd/{folder}" if isinstance(folder, int) else folder
    try:
        return ACL in os.listxattr(named)
    except OSError as error:
        return error.errno != errno.ENOTSUP


@cache
def _is_of_user_alone(group: int) -> bool:
    """Return whether a group is that which systems make for each user: of the same name, and
    without others in it, nor as their main group. That of a user may be that of all, as users or
    staff."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
        found = grp.getgrgid(group)
    except KeyError:
        return False
    mainly = {each.pw_name for each in pwd.getpwall() if each.pw_gid == group}
    return found.gr_name == user and mainly | set(found.gr_mem) <= {user}


def is_open(folder: Folder) -> bool:
    """Return whether several, and not its owner alone, may rename what is in a folder."""
    if os.name == "nt" or os.stat(folder).st_mode & stat.S_ISVTX:
        return False
    return _is_of_several(folder)


def is_exchangeable(path: Path) -> bool:
    """Return whether others could put something else into the place of `path`, a path without
    links that need not be there, or of a folder above it."""
    if os.name == "nt":
        return False
    trusted = (0, os.geteuid())
    for place in (path, *path.parents):
        try:
            state = os.lstat(place)
        except FileNotFoundError:
            continue
        is_link = stat.S_ISLNK(state.st_mode)
        if state.st_uid not in trusted or (place != path and (is_link or is_open(place))):
            return True
    return False
