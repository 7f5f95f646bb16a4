"""Read the file that was meant, also in folders where others can exchange names meanwhile."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..errors import QseError
from .checks import check_file
from .file_mode import Sources
from .folder_path import FOLDER, held_folder, is_closed
from .held_folder import HAS_DESCRIPTORS, HeldFolder
from .private_folder import private_folder

Identity = tuple[int, int]  # device and number of a folder
# names of open files, which are no names in a folder
OPEN = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|thread-self|\d+)/fd/\d+")


def identity(folder: Path) -> Identity:
    """Return what a folder is recognised by, whatever its name. Raises OSError."""
    state = folder.stat()
    return state.st_dev, state.st_ino


@contextmanager
def held_input(path: Path, name: str, inside: Identity | None = None) -> Iterator[Path]:
    """Yield a path by which `path` is read, decided once, when the file is opened here.

    Where nobody else can exchange a name on the way, and it leads through no link, that is `path`
    itself; else, on Linux, a link of the same suffix to the open file. name: of the file in
    messages. inside: the folder in which it must lie. Raises QseError if it does not, if a link on
    the way is another user's in a folder that several can write, and as `check_file`.
    """
    if not HAS_DESCRIPTORS:
        yield path
        return
    with ExitStack() as stack:
        try:
            check_file(path, name)
            if OPEN.fullmatch(os.path.abspath(path)):
                yield path
                return
            folder, last = stack.enter_context(held_folder(path, reading=True))
            descriptor = folder.open(last, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            if inside and not _lies_in(folder, inside):
                raise QseError(f"{name} leads to a file outside the folder that was named")
            read = path
            Sources.opened(path, descriptor)
            is_direct = folder.path / last == Path(os.path.abspath(path))  # or behind a link
            if not (is_direct and _is_private(folder, last)):
                read = _link_to(descriptor, path, stack)
        except FileNotFoundError as error:
            raise QseError(f"{name}: no such file") from error
        except OSError as error:
            raise QseError(f"{name} cannot be read: {error.strerror}") from error
        yield read


def _lies_in(folder: HeldFolder, inside: Identity) -> bool:
    """Return whether a folder is `inside`, or lies below it, as it is now, whatever its path."""
    at = os.dup(folder.at)  # type: ignore[arg-type]
    try:
        while True:
            state = os.fstat(at)
            if (state.st_dev, state.st_ino) == inside:
                return True
            above = os.open(os.pardir, FOLDER, dir_fd=at)
            os.close(at)
            at = above
            if os.path.samestat(state, os.fstat(at)):  # the top
                return False
    except OSError:  # of somebody who lets nobody look
        return False
    finally:
        os.close(at)


def _is_private(folder: HeldFolder, name: str) -> bool:
    """Return whether nobody else can exchange the file or a folder on the way to it."""
    path = folder.path / name
    try:
        for parent in path.parents:
            if not is_closed(os.stat(parent), os.lstat(path)):
                return False
            path = parent
    except PermissionError:  # a relative path, in a folder that cannot be entered from the top
        return False
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
