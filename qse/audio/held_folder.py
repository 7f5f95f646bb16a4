"""Hold a folder by a descriptor, so that its files are opened, renamed and removed in that folder
also when somebody renames it, or puts a link into its place, meanwhile.

Where the system has no descriptors of folders (Windows), paths are used.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

HAS_DESCRIPTORS = {os.open, os.link, os.mkdir, os.readlink, os.rename, os.stat, os.unlink} <= (
    os.supports_dir_fd
)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for its other end
KINDS = {stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR}  # a folder is replaced by no file in any case
BINARY = getattr(os, "O_BINARY", 0)


class HeldFolder:
    """A folder in which files are named without their path; `path` is for messages, `at` its
    descriptor."""

    def __init__(self, path: Path, descriptor: int | None):
        self.path = path
        self.at = descriptor

    def _place(self, name: str) -> str:
        return name if self.at is not None else str(self.path / name)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a regular file, never through a link; a new one has the permissions `mode`.

        Raises OSError for anything else, at once."""
        flags |= NO_LINK | NO_WAIT | BINARY
        descriptor = os.open(self._place(name), flags, mode, dir_fd=self.at)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", name)

    def open_itself(self, name: str, flags: int) -> int:
        """Open as `open`. Raises PermissionError, which says why, for a link."""
        state = self.state(name)
        if state and stat.S_ISLNK(state.st_mode):
            raise PermissionError(errno.EPERM, "it is a link, and not the file itself", name)
        return self.open(name, flags)

    def create(self, name: str) -> int:
        """Make a file for reading and writing. Raises FileExistsError if the name is taken."""
        return self.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def state(self, name: str) -> os.stat_result | None:
        """Return the status of a file or link, None if there is none."""
        with suppress(FileNotFoundError):
            return os.stat(self._place(name), dir_fd=self.at, follow_symlinks=False)
        return None

    def replace(self, name: str, to: str) -> None:
        """Rename a file to a name that may be taken by another file, or by a link."""
        self.check_file(to)
        os.replace(self._place(name), self._place(to), src_dir_fd=self.at, dst_dir_fd=self.at)

    def check_file(self, name: str) -> None:
        """Raise OSError where a device, a named pipe or a socket has this name: it is replaced by
        none."""
        state = self.state(name)
        if state and not KINDS & {stat.S_IFMT(state.st_mode)}:
            raise OSError(errno.EINVAL, "it is no regular file", name)

    def link(self, name: str, to: str) -> None:
        """Give a file a second name. Raises OSError if that is taken, or there are no links."""
        if self.at is None:
            os.link(self._place(name), self._place(to))
            return
        os.link(name, to, src_dir_fd=self.at, dst_dir_fd=self.at, follow_symlinks=False)

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(self._place(name), dir_fd=self.at)

    def path_to(self, name: str, descriptor: int) -> Path:
        """Return a path by which libraries reach the open file `name`: on Linux that of the
        descriptor, which means this file whatever happens to its name."""
        own = Path(f"/proc/self/fd/{descriptor}")
        with suppress(OSError):
            if os.path.samestat(own.stat(), os.fstat(descriptor)):
                return own
        return self.path / name
