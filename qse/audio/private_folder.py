"""Make folders for temporary files that only this user can read, write or replace."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock

from ..errors import QseError

OPENING = Lock()  # TMPDIR is that of the whole process


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a folder in that of temporary files (TMPDIR), removed at the end.

    Raises OSError if it cannot be made, QseError if others could replace it: whoever may write a
    folder that is not sticky may rename what is in it.
    """
    place = tempfile.gettempdir()
    if is_open(os.stat(place)):
        raise QseError(
            f"{place} can be written by others, who could exchange temporary files there: "
            "name another folder by TMPDIR"
        )
    with tempfile.TemporaryDirectory(prefix="qse-") as folder:
        yield Path(folder)


@contextmanager
def unseen_temporary(subtype: str) -> Iterator[None]:
    """Let libsndfile open the temporary file in which it keeps ALAC until the file is closed, and
    which all could read, in a private folder. It has no name then any more, and ends with the
    process."""
    if os.name == "nt" or not subtype.startswith("ALAC"):
        yield
        return
    with OPENING, private_folder() as folder:
        former = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(folder)
        try:
            yield
        finally:
            os.environ.pop("TMPDIR")
            if former is not None:
                os.environ["TMPDIR"] = former


def is_shared(state: os.stat_result) -> bool:
    """Return whether others may make files in a folder with this status: its owner, if that is
    neither this user nor root, or several."""
    if os.name == "nt":
        return False
    return state.st_uid not in (0, os.geteuid()) or _is_of_several(state)


def _is_of_several(state: os.stat_result) -> bool:
    of_group = state.st_mode & stat.S_IWGRP and not _is_of_user_alone(state.st_gid)
    return bool(state.st_mode & stat.S_IWOTH or of_group)


@cache
def _is_of_user_alone(group: int) -> bool:
    """Return whether a group is that which systems make for each user: of the same name, and
    without others in it. The main group of a user may be that of all, as users or staff."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
        found = grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}


def is_open(state: os.stat_result) -> bool:
    """Return whether several, and not its owner alone, may rename what is in a folder with this
    status."""
    return os.name != "nt" and _is_of_several(state) and not state.st_mode & stat.S_ISVTX


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
        if state.st_uid not in trusted or (place != path and is_open(state)):
            return True
    return False
