"""Give a new file permissions that are no wider than those of its source."""

import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from .held_folder import NO_LINK

STATUS = Path("/proc/self/status")
AT_FIRST = os.umask(0o077)  # nothing but Linux tells it without setting it
os.umask(AT_FIRST)
ACL = "system.posix_acl_access"
ACL_HEAD = 4  # bytes before its lines
ENTRY = struct.Struct("<HH4x")  # of whom a line tells, and permissions
OWNER = 1


class Readers(NamedTuple):
    """Say who but the owner may use a file: permissions of its group and of others, and that
    group."""

    mode: int
    group: int

    @classmethod
    def of(cls, file: Path | int) -> Self:
        """Return the readers of a file, a path or a descriptor; with a list of people (ACL), what
        all of them may. Raises OSError."""
        state = os.stat(file)
        listed = _listed(file)
        # the bits of the group are those of other people
        mode = _of_all(state.st_mode, listed) if listed else state.st_mode & 0o077
        return cls(mode, state.st_gid)

    def of_copy(self, group: int) -> int:
        """Return the permissions that a copy may have which belongs to `group`."""
        return 0o600 | (self.mode if self.group == group else _of_all(self.mode))

    def may_read(self, other: "Readers") -> bool:
        """Return whether all of them may read a file with `other` readers."""
        wanted = (self.mode >> 3 | self.mode) & 0o007
        of_all = (wanted << 3 | wanted) & ~other.mode == 0
        return of_all or (self.group == other.group and self.mode & ~other.mode == 0)


class Sources:
    """Several files of which one is made: whoever may read that may read all of them.

    Files are known by their names, and while this is a context, by what is opened under these names
    to be read, in any thread: others may exchange them.
    """

    _active: ClassVar[list["Sources"]] = []

    def __init__(self, paths: Iterable[Path]):
        """paths: of files, or of folders, below which all counts that is opened. A file that is not
        there tells nothing: what reads it complains. Raises OSError."""
        self._names: set[str] = set()
        self._found: set[Readers] = set()
        for path in paths:
            self._names.add(os.path.abspath(path))
            with suppress(FileNotFoundError):
                if not path.is_dir():
                    self._found.add(Readers.of(path))

    @classmethod
    def of_all(cls, several: Iterable["Sources"]) -> Self:
        """Return the files of several as one."""
        joined = cls([])
        for sources in several:
            joined._names |= sources._names
            joined._found |= sources._found
        return joined

    def __enter__(self) -> Self:
        self._active.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._active.remove(self)

    @classmethod
    def opened(cls, path: Path, descriptor: int) -> None:
        """Note that a file is open under this name. Raises OSError."""
        for sources in tuple(cls._active):  # other threads change it meanwhile
            name = Path(os.path.abspath(path))
            if any(str(place) in sources._names for place in (name, *name.parents)):
                sources.add(descriptor)

    def add(self, descriptor: int) -> None:
        """Count an open file among them. Raises OSError."""
        self._found.add(Readers.of(descriptor))

    @property
    def readers(self) -> Readers | None:
        """Return who may read all files: nobody but the owner where no file tells it; None without
        files."""
        for readers in self._found:
            if all(map(readers.may_read, self._found)):
                return readers
        return Readers(0, 0) if self._found else None


OWNER_ALONE = Readers(0, 0)  # in place of a source: sound of a microphone
Source = Path | Readers | Sources


def set_mode(descriptor: int, replaced: os.stat_result | None, source: Source | None) -> None:
    """Give the temporary file the permissions of a new one, or of the own file that it replaces,
    without those that others do not have on `source`."""
    if not hasattr(os, "fchmod"):
        return
    own = os.fstat(descriptor)
    mode = 0o666 & ~_mask()
    if replaced and stat.S_ISREG(replaced.st_mode):
        before = stat.S_IMODE(replaced.st_mode) & 0o777
        mode = before if replaced.st_uid == own.st_uid else mode & before
    with suppress(OSError):  # the file system has no permissions
        os.fchmod(descriptor, mode & allowed(source, own.st_gid))


def _mask() -> int:
    """Return the umask, on Linux the present one: a service may narrow it later."""
    with suppress(OSError):
        for line in STATUS.read_bytes().splitlines():
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return AT_FIRST


def is_wider(descriptor: int, source: Source | None) -> bool:
    """Return whether an open file has permissions that others do not have on `source`."""
    own = os.fstat(descriptor)
    mode = stat.S_IMODE(own.st_mode) & 0o077
    return hasattr(os, "fchmod") and bool(mode & ~allowed(source, own.st_gid))


def restrict(path: Path, source: Source | None) -> None:
    """Take from a file the permissions that others do not have on `source`, as `set_mode`. Raises
    OSError, also for a link."""
    if not hasattr(os, "fchmod"):
        return
    descriptor = os.open(path, os.O_RDONLY | NO_LINK)
    try:
        state = os.fstat(descriptor)
        os.fchmod(descriptor, stat.S_IMODE(state.st_mode) & (allowed(source, state.st_gid) | 0o700))
    finally:
        os.close(descriptor)


def allowed(source: Source | None, group: int) -> int:
    """Return the permissions that a file made of `source` may have, which belongs to `group`; of
    None all. Raises OSError."""
    readers = source.readers if isinstance(source, Sources) else source
    if isinstance(readers, Path):
        readers = Readers.of(readers)
    return readers.of_copy(group) if readers else 0o777


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
    return Readers.of(number).of_copy(group) if is_file else 0o666


def _of_all(mode: int, listed: tuple[int, ...] = ()) -> int:
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
