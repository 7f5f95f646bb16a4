"""Hold a folder by a descriptor, so that its files are opened, renamed and removed in that folder
also when somebody renames it, or puts a link into its place, meanwhile.

Links on the way to a file are followed if whoever could have made them is trusted: they belong to
this user or to root, or lie in a folder that only these can write. Where the system has no
descriptors of folders (Windows), paths are used.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HAS_DESCRIPTORS = {os.open, os.link, os.mkdir, os.readlink, os.rename, os.stat, os.unlink} <= (
    os.supports_dir_fd
)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for its other end
BINARY = getattr(os, "O_BINARY", 0)
# O_PATH needs no permission to list the folder
FOLDER = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0) | NO_LINK
MOST_LINKS = 40  # as in Linux


class HeldFolder:
    """A folder in which files are named without their path; `path` is for messages."""

    def __init__(self, path: Path, descriptor: int | None):
        self.path = path
        self._at = descriptor

    def _place(self, name: str) -> str:
        return name if self._at is not None else str(self.path / name)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a regular file, never through a link; a new one has the permissions `mode`.

        Raises OSError for anything else, at once."""
        flags |= NO_LINK | NO_WAIT | BINARY
        descriptor = os.open(self._place(name), flags, mode, dir_fd=self._at)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", name)

    def create(self, name: str) -> int:
        """Make a file for reading and writing. Raises FileExistsError if the name is taken."""
        return self.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def state(self, name: str) -> os.stat_result | None:
        """Return the status of a file or link, None if there is none."""
        with suppress(FileNotFoundError):
            return os.stat(self._place(name), dir_fd=self._at, follow_symlinks=False)
        return None

    def replace(self, name: str, to: str) -> None:
        """Rename a file to a name that may be taken."""
        os.replace(self._place(name), self._place(to), src_dir_fd=self._at, dst_dir_fd=self._at)

    def link(self, name: str, to: str) -> None:
        """Give a file a second name. Raises OSError if that is taken, or there are no links."""
        if self._at is None:
            os.link(self._place(name), self._place(to))
            return
        os.link(name, to, src_dir_fd=self._at, dst_dir_fd=self._at, follow_symlinks=False)

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(self._place(name), dir_fd=self._at)

    def path_to(self, name: str, descriptor: int) -> Path:
        """Return a path by which libraries reach the open file `name`: on Linux that of the
        descriptor, which means this file whatever happens to its name."""
        own = Path(f"/proc/self/fd/{descriptor}")
        with suppress(OSError):
            if os.path.samestat(own.stat(), os.fstat(descriptor)):
                return own
        return self.path / name


@contextmanager
def held_folder(path: Path, make: bool = False) -> Iterator[tuple[HeldFolder, str]]:
    """Yield the folder of the file that `path` means, and the name of the file in it.

    `make`: make folders that are missing. Raises OSError where a folder is missing or cannot be
    entered, and for a link of somebody who is not trusted.
    """
    if not HAS_DESCRIPTORS:
        real = Path(os.path.realpath(path))
        if make:
            real.parent.mkdir(parents=True, exist_ok=True)
        yield HeldFolder(real.parent, None), real.name
        return
    start = path if path.is_absolute() else Path.cwd() / path
    folder, name = _walk(start, make)
    try:
        yield folder, name
    finally:
        os.close(folder._at)  # type: ignore[arg-type]


def _walk(path: Path, make: bool) -> tuple[HeldFolder, str]:
    """Enter one folder after another, as the system does for a path, but with the rule for
    links."""
    rest = deque(path.parts[1:])
    folder = HeldFolder(Path(path.anchor), os.open(path.anchor, FOLDER))
    links = 0
    try:
        while rest:
            name = rest.popleft()
            state = folder.state(name)
            if state and stat.S_ISLNK(state.st_mode):
                links += 1
                to = _followed(folder, name, state, links)
                rest.extendleft(reversed(to.parts[1:] if to.is_absolute() else to.parts))
                if to.is_absolute():
                    folder = _entered(folder, to.anchor)
            elif not rest:
                return folder, name
            else:
                if state is None and make:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder._at)
                folder = _entered(folder, name)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    except BaseException:
        os.close(folder._at)  # type: ignore[arg-type]
        raise


def _entered(folder: HeldFolder, name: str) -> HeldFolder:
    path = folder.path / name
    try:
        inner = HeldFolder(path, os.open(name, FOLDER, dir_fd=folder._at))
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    os.close(folder._at)  # type: ignore[arg-type]
    return inner


def _followed(folder: HeldFolder, name: str, state: os.stat_result, links: int) -> Path:
    """Return what a link points to. Raises OSError if it must not be followed."""
    place = str(folder.path / name)
    if links > MOST_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), place)
    trusted = (0, os.geteuid())
    inside = os.stat(folder._at)  # type: ignore[arg-type]
    closed = inside.st_uid in trusted and not inside.st_mode & 0o022
    if state.st_uid not in trusted and not closed:
        raise PermissionError(errno.EPERM, f"{place} is a link that another user made", place)
    return Path(os.readlink(name, dir_fd=folder._at))
