"""Write files atomically: a file appears under its name when it is complete, or not at all.

Others may write the folder: the temporary file has a random name, is made new and for this user
alone, is reached by its descriptor, and is renamed in the folder that was entered at the beginning.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from typing import IO

from .claim import claim_in
from .file_mode import Source, is_wider, set_mode
from .folder_path import entered_folder, refuse_foreign, target_folder
from .held_folder import HeldFolder

_unfinished: set[tuple[HeldFolder, str]] = set()


@contextmanager
def atomic_path(
    path: Path, overwrite: bool = True, *, source: Source | None, is_named: bool = False
) -> Iterator[Path]:
    """Yield the path of an empty temporary file in the folder of `path`; rename it to `path` at the
    end, remove it on an exception.

    If `path` is a link, it is replaced itself, or, if `is_named`, the file that it points to; see
    `target_folder`. A replaced file hands on its permissions, as far as they are no wider than
    those of `source`: what the content is made of, OWNER_ALONE, or None for what everybody may
    read. Without `overwrite`, raise FileExistsError if `path` exists at the end, also where
    another process has just made it. On Linux the yielded path is that of a descriptor: it must be
    written, not replaced.
    """
    with (
        target_folder(path, is_named) as (folder, name),
        _published(folder, name, overwrite, source) as part,
    ):
        yield part


@contextmanager
def claimed_path(
    path: Path, overwrite: bool = True, *, source: Source | None, is_named: bool = False
) -> Iterator[Path]:
    """Do what `atomic_path` does, in folders that are made if they are missing, for one process at
    a time: raise Claimed at once if another one writes `path`.

    The temporary file that a killed process left for the same path is removed: its name is in the
    file that the process had locked.
    """
    with ExitStack() as stack:
        folder, name = stack.enter_context(target_folder(path, is_named, make=True))
        claim = stack.enter_context(claim_in(folder, name))
        part = _temporary()
        if claim:
            _unfinished.add((folder, claim.name))
            stack.callback(_unfinished.discard, (folder, claim.name))
            if left := claim.recorded():
                folder.remove(left)
            claim.record(part)
        step("claimed")
        yield stack.enter_context(_published(folder, name, overwrite, source, part))


def step(name: str) -> None:
    """Do nothing: tests put a function here that acts between two steps of writing."""


def _temporary() -> str:
    # short: names are limited to 255 bytes
    return f".qse-{secrets.token_hex(8)}.part"


@contextmanager
def _published(
    folder: HeldFolder, name: str, overwrite: bool, source: Source | None, part: str | None = None
) -> Iterator[Path]:
    part = part or _temporary()
    step("before making")
    descriptor = folder.create(part)
    _unfinished.add((folder, part))
    try:
        step("made")
        yield folder.path_to(part, descriptor)
        step("written")
        made = folder.state(part)
        if made is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), part)
        if not os.path.samestat(made, os.fstat(descriptor)):
            raise OSError(errno.EBUSY, "its temporary file was exchanged", part)
        former = folder.state(name)
        set_mode(descriptor, former, source)
        if former:
            _write_through(descriptor, folder.path / name)
        if os.name == "nt":  # where an open file cannot be renamed
            os.close(descriptor)
            descriptor = -1
        if overwrite:
            folder.replace(part, name)
        else:
            _rename_if_free(folder, part, name)
    finally:
        if descriptor >= 0:
            os.close(descriptor)
        folder.remove(part)
        _unfinished.discard((folder, part))


def open_to_append(path: Path, *, source: Source | None, is_named: bool = False) -> IO[bytes]:
    """Open a file to append to it, in the folder that `target_folder` enters; its permissions are
    then no wider than those of `source`. If they were, a copy takes its place, which nobody has
    open.

    Raises PermissionError for a link that is not followed, and for a file that others may have put
    there: of another user, or with a second name.
    """
    with target_folder(path, is_named) as (folder, name):
        file = _opened_to_append(folder, name)
        if source and is_wider(file.fileno(), source):
            file.close()
            _replace_by_copy(folder, name, source)
            step("copied")
            file = _opened_to_append(folder, name)
            if is_wider(file.fileno(), source):
                file.close()
                raise PermissionError(errno.EPERM, "it was exchanged", name)
        elif not os.fstat(file.fileno()).st_size:
            set_mode(file.fileno(), None, source)
    return file


def _opened_to_append(folder: HeldFolder, name: str) -> IO[bytes]:
    descriptor = folder.open_itself(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    refuse_foreign(folder, name, descriptor)
    return os.fdopen(descriptor, "ab")


def _replace_by_copy(folder: HeldFolder, name: str, source: Source) -> None:
    with (
        os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file,
        _published(folder, name, True, source) as part,
        part.open("wb") as copy,
    ):
        copyfileobj(file, copy)


def remove(path: Path) -> None:
    """Remove a file, or a link itself, if it is there, in the folder that `held_folder` enters."""
    with suppress(FileNotFoundError), entered_folder(path.parent) as folder:
        folder.remove(path.name)


def write_text(
    path: Path,
    text: str,
    overwrite: bool = True,
    *,
    source: Source | None,
    is_named: bool = False,
) -> None:
    """Write `text` to `path` atomically, in UTF-8, but names of files as they are; see
    `atomic_path`."""
    with atomic_path(path, overwrite, source=source, is_named=is_named) as part:
        part.write_text(text, encoding="utf-8", errors="surrogateescape")


def discard_unfinished() -> None:
    """Remove the temporary files of this process, just before it ends without any cleaning up."""
    for folder, name in list(_unfinished):
        with suppress(OSError):
            folder.remove(name)


def _write_through(descriptor: int, path: Path) -> None:
    """Put a file on the disk before it takes the place of another: a disk of another machine, or
    one that lies on a full one, has no room until then. Raises OSError, which names `path`, where
    it has none."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):  # there is no such way
            raise OSError(error.errno, error.strerror, str(path)) from error


def _rename_if_free(folder: HeldFolder, part: str, name: str) -> None:
    try:
        folder.link(part, name)  # unlike a rename, fails if the name is taken
        return
    except OSError:  # it is taken, or the file system has no hard links
        if folder.state(name):
            raise FileExistsError(
                errno.EEXIST, os.strerror(errno.EEXIST), str(folder.path / name)
            ) from None
    folder.replace(part, name)
