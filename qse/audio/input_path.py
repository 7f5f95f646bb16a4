"""Read the file that was meant, also in folders where others can exchange names meanwhile."""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..errors import QseError
from .checks import check_file
from .folder_path import held_folder, is_closed
from .held_folder import HAS_DESCRIPTORS, HeldFolder
from .private_folder import private_folder

Identity = tuple[int, int]  # device and number of a folder


def identity(folder: Path) -> Identity:
    """Return what a folder is recognised by, whatever its name. Raises OSError."""
    state = folder.stat()
    return state.st_dev, state.st_ino


@contextmanager
def held_input(path: Path, name: str, inside: Identity | None = None) -> Iterator[Path]:
    """Yield a path by which `path` is read, decided once, when the file is opened here.

    Where nobody else can exchange a name on the way, that is `path` itself; else, on Linux, a link
    of the same suffix to the open file. name: of the file in messages. inside: the folder in which
    it must lie. Raises QseError if it does not, if a link on the way is another user's in a folder
    that several can write, and as `check_file`.
    """
    if not HAS_DESCRIPTORS:
        yield path
        return
    with ExitStack() as stack:
        try:
            check_file(path, name)
            if _is_of_process(path):
                yield path
                return
            folder, last = stack.enter_context(held_folder(path, reading=True))
            descriptor = folder.open(last, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            if inside and not _lies_in(descriptor, inside):
                raise QseError(f"{name} leads to a file outside the folder that was named")
            read = path
            if not _is_private(folder, last):
                read = _link_to(descriptor, path, stack)
        except FileNotFoundError as error:
            raise QseError(f"{name}: no such file") from error
        except OSError as error:
            # the folder of a relative path may lie in one that cannot be entered from the top
            if error.errno != errno.EACCES:
                raise QseError(f"{name} cannot be read: {error.strerror}") from error
            read = path
        yield read


def _is_of_process(path: Path) -> bool:
    """Return whether a path is that of an open file, as /dev/stdin: its last link is none that
    could be read."""
    real = os.path.realpath(path.parent)
    return real.startswith(("/proc", "/dev")) or os.path.realpath(path).startswith("/proc")


def _lies_in(descriptor: int, inside: Identity) -> bool:
    """Return whether an open file lies below a folder; True where the system does not say."""
    try:
        real = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
    except OSError:
        return True
    for folder in real.parents:
        try:
            if identity(folder) == inside:
                return True
        except OSError:  # of somebody who lets nobody look
            continue
    return False


def _is_private(folder: HeldFolder, name: str) -> bool:
    """Return whether nobody else can exchange the file or a folder on the way to it."""
    path = folder.path / name
    for parent in path.parents:
        if not is_closed(os.stat(parent), os.lstat(path)):
            return False
        path = parent
    return True


def _link_to(descriptor: int, path: Path, stack: ExitStack) -> Path:
    """Return a link to an open file, with its suffix, in a private folder; `path` where the system
    has no such links."""
    own = f"/proc/{os.getpid()}/fd/{descriptor}"
    if not os.path.exists(own):
        return path
    link = stack.enter_context(private_folder()) / f"source{path.suffix}"
    link.symlink_to(own)
    return link
