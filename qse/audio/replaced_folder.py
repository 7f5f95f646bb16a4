"""Write a folder atomically: it appears, or replaces the former one, when it is complete.

Where others could exchange it meanwhile, its files are made elsewhere and copied one by one.
"""

import ctypes
import os
import secrets
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import copy2, copyfile, copytree, rmtree
from tempfile import TemporaryDirectory

from .atomic_write import atomic_path, remove
from .folder_path import entered_folder, held_folder
from .private_folder import is_exchangeable, private_folder

# of Linux, for renameat2
AT_WORKING_FOLDER = -100
RENAME_EXCHANGE = 2


@contextmanager
def replaced_folder(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """Yield an empty folder beside `folder`; at the end it takes the place of `folder`, which need
    not be there. After an exception `folder` is as it was.

    names: files that the new folder replaces or leaves out; all others of the former folder are in
    the new one, too, under second names or as copies. If `folder` is a link, the folder that it
    points to is replaced; see `held_folder`. Raises OSError where the folder cannot be written, on
    Windows also while one of its files is open.
    """
    target = real_folder(folder)
    if is_exchangeable(target):
        with _elsewhere(target, at_once=True) as new:
            yield new
            left_out = [name for name in names if not (new / name).exists()]
        for name in left_out:
            remove(target / name)
        return
    with _beside(target) as new:
        yield new
        _exchange(new, target, names)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `folder` at the end, unless another process has made that
    meanwhile. Raises OSError where it cannot be written."""
    target = real_folder(folder)
    if is_exchangeable(target):
        with _elsewhere(target) as new:
            yield new
        return
    with _beside(target) as new:
        yield new
        try:
            new.rename(target)
        except OSError:
            if not target.is_dir():
                raise


def real_folder(folder: Path) -> Path:
    """Return the path of a folder without links, by the rule for them; folders above it are made.

    Raises OSError as `held_folder`.
    """
    if folder.is_dir():
        with entered_folder(folder) as held:
            return Path(os.path.normpath(held.path))
    with held_folder(folder, make=True) as (held, name):
        return Path(os.path.normpath(held.path / name))


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield an empty folder in a temporary one beside `target`."""
    with TemporaryDirectory(prefix=".qse-", dir=target.parent, ignore_cleanup_errors=True) as place:
        new = Path(place) / "new"
        new.mkdir()
        yield new


@contextmanager
def _elsewhere(target: Path, at_once: bool = False) -> Iterator[Path]:
    """Yield an empty private folder, whose files are copied to `target` at the end. `at_once`: they
    appear there when all are copied, for which all are open."""
    with private_folder() as new:
        yield new
        with ExitStack() as stack:
            for path in sorted(filter(Path.is_file, new.rglob("*"))):
                to = target / path.relative_to(new)
                with held_folder(to, make=True):
                    copyfile(path, stack.enter_context(atomic_path(to, source=path)))
                if not at_once:
                    stack.close()


def _exchange(new: Path, target: Path, names: Collection[str]) -> None:
    """Rename `new` to `target`, with what it does not replace there.

    That has second names in `new` before, so that a process that ends at any moment leaves all of
    it under its name.
    """
    if not target.exists():
        new.rename(target)
        return
    for path in target.iterdir():
        if path.name not in names:
            _repeat(path, new / path.name)
    if _exchanged(new, target):  # and the former folder is removed as `new`
        return
    former = target.with_name(f".qse-{secrets.token_hex(8)}.former")
    target.rename(former)
    try:
        new.rename(target)
    except BaseException:
        former.rename(target)
        raise
    with suppress(OSError):  # the new folder is in its place
        rmtree(former)


def _repeat(path: Path, to: Path) -> None:
    """Give a file, or all files in a folder, a second name, or copy them."""
    if path.is_dir() and not path.is_symlink():
        copytree(path, to, symlinks=True, copy_function=_second_name)
    else:
        _second_name(path, to)


def _second_name(path: str | Path, to: str | Path) -> None:
    try:
        os.link(path, to, follow_symlinks=False)
    except OSError:
        copy2(path, to, follow_symlinks=False)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; return False where the system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    paths = (AT_WORKING_FOLDER, os.fsencode(one), AT_WORKING_FOLDER, os.fsencode(other))
    done: int = rename(*paths, RENAME_EXCHANGE)
    return done == 0
