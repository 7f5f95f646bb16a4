"""Enter the folder of a file, by the rule for links that strangers may have made.

Links on the way to a file are followed where nobody but this user and root can have put them
there: in a folder that only these can write, and links of these where others cannot rename them. On
the way to a file that is read, links of these are followed in any folder, and those of its owner in
one that nobody else can write.
"""

import errno
import os
import secrets
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .file_mode import Sources
from .held_folder import HAS_DESCRIPTORS, NO_LINK, HeldFolder
from .private_folder import is_open, is_shared

# O_PATH needs no permission to list the folder
FOLDER = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0) | NO_LINK
MOST_LINKS = 40  # as in Linux


@contextmanager
def held_folder(
    path: Path, make: bool = False, reading: bool = False
) -> Iterator[tuple[HeldFolder, str]]:
    """Yield the folder of the file that `path` means, and the name of the file in it.

    `make`: make folders that are missing. `reading`: the file is read alone. Raises OSError where a
    folder is missing or cannot be entered, and for a link of somebody who is not trusted.
    """
    if not HAS_DESCRIPTORS:
        real = Path(os.path.realpath(path))
        if make:
            real.parent.mkdir(parents=True, exist_ok=True)
        yield HeldFolder(real.parent, None), real.name
        return
    folder, name = _walk(path, make, reading)
    try:
        yield folder, name
    finally:
        os.close(folder.at)  # type: ignore[arg-type]


@contextmanager
def target_folder(
    path: Path, is_named: bool, make: bool = False
) -> Iterator[tuple[HeldFolder, str]]:
    """Yield the folder in which the file `path` is written, and its name there; see `held_folder`.

    `is_named`: a person named this file: if it is a link, that is followed. Under a name that
    a program has found, such as that of a run's checkpoint, a link is not, whoever made it: it may
    have come in an archive.
    """
    if is_named:
        with held_folder(path, make) as found:
            yield found
        return
    with entered_folder(path.parent, make) as folder:
        yield folder, path.name


@contextmanager
def entered_folder(path: Path, make: bool = False) -> Iterator[HeldFolder]:
    """Yield the folder `path` itself; see `held_folder`."""
    with held_folder(path / secrets.token_hex(8), make) as (folder, _):  # a name that is not there
        yield folder


def make_folder(path: Path) -> None:
    """Make a folder and those above it that are missing; see `held_folder`."""
    with entered_folder(path, make=True):
        pass


def open_named(path: str, flags: int) -> int:
    """Open an output that a person has named, to read what is to be continued or replaced: an
    opener for `open`. Raises OSError as `held_folder`, for what is no regular file, and for one
    that others may have put there."""
    with target_folder(Path(path), is_named=True) as (folder, name):
        descriptor = folder.open(name, flags)
        refuse_foreign(folder, name, descriptor)
        return descriptor


def refuse_foreign(folder: HeldFolder, name: str, descriptor: int) -> None:
    """Close an open file, and raise PermissionError, where others may have put it into its folder:
    one of another user, or with a second name, where others can make files."""
    if folder.at is None or not is_shared(folder.at):
        return
    state = os.fstat(descriptor)
    if state.st_uid not in (0, os.geteuid()) or state.st_nlink > 1:
        os.close(descriptor)
        reason = "it belongs to another user, or is another file as well"
        raise PermissionError(errno.EPERM, reason, name)


def open_found(path: str, flags: int) -> int:
    """Open such a file under a name that a program has found, as `open_named`: through no link. It
    counts among the `Sources`."""
    with target_folder(Path(path), is_named=False) as (folder, name):
        descriptor = folder.open_itself(name, flags)
    Sources.opened(Path(path), descriptor)
    return descriptor


def open_source(path: str, flags: int) -> int:
    """Open a file that is read alone, an opener for `open`, and count it among the `Sources`.

    Raises OSError as `held_folder`, and for what is no regular file."""
    with held_folder(Path(path), reading=True) as (folder, name):
        descriptor = folder.open(name, flags)
    Sources.opened(Path(path), descriptor)
    return descriptor


def _walk(path: Path, make: bool, reading: bool) -> tuple[HeldFolder, str]:
    """Enter one folder after another, as the system does for a path, but with the rule for
    links. A relative path begins at the working folder, which may lie in one that cannot be
    entered from the top."""
    begin = path.anchor or os.curdir
    rest = deque(path.parts[1:] if path.anchor else path.parts)
    folder = HeldFolder(Path(path.anchor or Path.cwd()), os.open(begin, FOLDER))
    links = 0
    try:
        while rest:
            name = rest.popleft()
            state = folder.state(name)
            if state and stat.S_ISLNK(state.st_mode):
                links += 1
                to = _followed(folder, name, state, links, reading)
                rest.extendleft(reversed(to.parts[1:] if to.is_absolute() else to.parts))
                if to.is_absolute():
                    folder = _entered(folder, to.anchor)
            elif not rest:
                return folder, name
            else:
                if state is None and make:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder.at)
                folder = _entered(folder, name)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    except BaseException:
        os.close(folder.at)  # type: ignore[arg-type]
        raise


def _entered(folder: HeldFolder, name: str) -> HeldFolder:
    path = folder.path / name
    try:
        inner = HeldFolder(path, os.open(name, FOLDER, dir_fd=folder.at))
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    os.close(folder.at)  # type: ignore[arg-type]
    return inner


def _followed(
    folder: HeldFolder, name: str, state: os.stat_result, links: int, reading: bool
) -> Path:
    """Return what a link points to. Raises OSError if it must not be followed."""
    place = str(folder.path / name)
    if links > MOST_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), place)
    at: int = folder.at  # type: ignore[assignment]
    trusted = (0, os.geteuid())
    inside = os.stat(at)
    own = state.st_uid in trusted
    closed = (reading or inside.st_uid in trusted) and not inside.st_mode & 0o022
    is_followed = closed or (own and reading)
    if not is_followed and not own:
        raise PermissionError(errno.EPERM, f"{place} is a link that another user made", place)
    if not is_followed and (inside.st_uid not in trusted or is_open(at)):
        fault = f"{place} is a link in a folder where others can exchange it"
        raise PermissionError(errno.EPERM, fault, place)
    return Path(os.readlink(name, dir_fd=at))


def link_below(folder: Path, target: Path) -> Path | None:
    """Return the first link among the folders between an output folder and a file in it, None if
    there is none: nobody has named it."""
    for inner in reversed(target.relative_to(folder).parents[:-1]):
        if (folder / inner).is_symlink():
            return folder / inner
    return None


def is_closed(folder: os.stat_result, inner: os.stat_result) -> bool:
    """Return whether only this user and root can exchange `inner`, which lies in `folder`."""
    trusted = (0, os.geteuid())
    if folder.st_uid not in trusted:
        return False
    sticky = folder.st_mode & stat.S_ISVTX and inner.st_uid in trusted
    return bool(sticky) or not folder.st_mode & 0o022
