"""Write a folder atomically: it appears, or replaces the former one, when it is complete.

Where others could exchange it meanwhile, its files are made elsewhere and copied one by one.
"""

import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import TemporaryDirectory

from .atomic_write import atomic_path, remove
from .folder_path import entered_folder, held_folder
from .private_folder import is_exchangeable, private_folder


@contextmanager
def replaced_folder(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """Yield an empty folder beside `folder`; at the end it takes the place of `folder`, which need
    not be there. After an exception `folder` is as it was.

    names: files that the new folder replaces or leaves out; all others move from the former folder
    into the new one. If `folder` is a link, the folder that it points to is replaced; see
    `held_folder`. Raises OSError where the folder cannot be written, on Windows also while one of
    its files is open.
    """
    target = real_folder(folder)
    if is_exchangeable(target):
        with _elsewhere(target) as new:
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
def _elsewhere(target: Path) -> Iterator[Path]:
    """Yield an empty private folder, whose files are copied to `target` at the end."""
    with private_folder() as new:
        yield new
        for path in sorted(filter(Path.is_file, new.rglob("*"))):
            to = target / path.relative_to(new)
            with held_folder(to, make=True), atomic_path(to, source=path) as part:
                copyfile(path, part)


def _exchange(new: Path, target: Path, names: Collection[str]) -> None:
    """Rename `target` and then `new` to `target`; undo the first where the second fails."""
    if not target.exists():
        new.rename(target)
        return
    former = target.with_name(f".qse-{secrets.token_hex(8)}.former")
    target.rename(former)
    try:
        for path in list(former.iterdir()):
            if path.name not in names:
                os.replace(path, new / path.name)
        new.rename(target)
    except BaseException:
        for path in list(new.iterdir()):
            if path.name not in names:
                os.replace(path, former / path.name)
        former.rename(target)
        raise
    with suppress(OSError):  # the new folder is in its place
        rmtree(former)
