"""Write files atomically: a file appears under its name when it is complete, or not at all."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .claim import claim

_unfinished: set[Path] = set()


@contextmanager
def atomic_path(path: Path, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; rename it to `path` at the end, remove it on
    an exception.

    If `path` is a link, the file that it points to is replaced. A replaced file hands on its
    permissions. Without `overwrite`, raise FileExistsError if `path` exists at the end, also where
    another process has just made it.
    """
    path = Path(os.path.realpath(path))
    part = _temporary(path)
    with _published(part, path, overwrite):
        yield part


@contextmanager
def claimed_path(path: Path, overwrite: bool = True) -> Iterator[Path]:
    """Do what `atomic_path` does, for one process at a time: raise Claimed at once if another one
    writes `path`.

    The temporary file that a killed process left for the same path is removed: a program that it
    started may still write into that one.
    """
    path = Path(os.path.realpath(path))
    with claim(path) as hidden:
        part = hidden.with_suffix(".part") if hidden else _temporary(path)
        locks = {hidden} if hidden else set()
        _unfinished.update(locks)
        try:
            part.unlink(missing_ok=True)
            with _published(part, path, overwrite):
                yield part
        finally:
            _unfinished.difference_update(locks)


def _temporary(path: Path) -> Path:
    # short: names are limited to 255 bytes
    return path.with_name(f".qse-{secrets.token_hex(4)}.part")


@contextmanager
def _published(part: Path, path: Path, overwrite: bool) -> Iterator[None]:
    _unfinished.add(part)
    try:
        yield
        with suppress(OSError):  # there is no such file, or the file system has no permissions
            shutil.copymode(path, part)
        if overwrite:
            part.replace(path)
        else:
            _rename_if_free(part, path)
    finally:
        part.unlink(missing_ok=True)
        _unfinished.discard(part)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically, in UTF-8."""
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")


def discard_unfinished() -> None:
    """Remove the temporary files of this process, just before it ends without any cleaning up."""
    for part in list(_unfinished):
        with suppress(OSError):
            part.unlink()


def _rename_if_free(part: Path, path: Path) -> None:
    taken = FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    try:
        os.link(part, path)  # unlike a rename, fails if the name is taken
        return
    except OSError:  # it is taken, or the file system has no hard links
        if path.exists():
            raise taken from None
    part.replace(path)  # a link to nowhere may be there
