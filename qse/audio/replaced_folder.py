"""Write the files of a folder at once: the folder appears when it is complete, or its files replace
former ones when all are written. Other files in it, its permissions and what is mounted in it stay.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from errno import EIO
from filecmp import cmp
from pathlib import Path
from shutil import copyfile, copyfileobj
from tempfile import mkdtemp

from .atomic_write import atomic_path, remove
from .file_mode import Readers, set_mode
from .folder_path import entered_folder, held_folder, open_found
from .private_folder import is_exchangeable, private_folder, temporary_folder


@contextmanager
def replaced_folder(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """Yield an empty folder, whose files are in `folder` at the end, which need not be there; after
    an exception `folder` is as it was.

    names: files of `folder` that go, or are replaced. If `folder` is a link, the folder that it
    points to gets the files; see `held_folder`. A process that is killed while it replaces them
    leaves some former ones. Raises OSError where the folder cannot be written.
    """
    target = real_folder(folder)
    if not target.exists() and not is_exchangeable(target):
        with _beside(target) as new:
            yield new
            new.rename(target)
        return
    with private_folder() as place:
        (new := place / "new").mkdir()
        yield new
        left_out = [name for name in names if not (new / name).exists()]
        _replace(new, target, left_out, place / "former")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `folder` at the end. Raises OSError where it cannot be
    written, or holds files meanwhile."""
    target = real_folder(folder)
    if is_exchangeable(target):
        with private_folder() as new:
            yield new
            for path in _files(new):
                to = target / path
                with held_folder(to, make=True), atomic_path(to, False, source=new / path) as part:
                    copyfile(new / path, part)
        return
    with _beside(target) as new:
        yield new
        new.rename(target)


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
    with temporary_folder(".qse-", target.parent) as place:
        (new := place / "new").mkdir()
        yield new


def _files(folder: Path) -> list[Path]:
    """Return the paths of the files below a folder, from there, sorted."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _replace(new: Path, target: Path, left_out: Collection[str], former: Path) -> None:
    """Copy the files below `new` to `target`, where they appear when all are copied, and remove
    those that are `left_out`; put the former files back if that fails. `former`: where those are
    kept meanwhile.

    Raises OSError, which names where the former files are, if they cannot be put back.
    """
    files = _files(new)
    for path in (*files, *map(Path, left_out)):
        if (target / path).is_file() and not (target / path).is_symlink():
            (former / path).parent.mkdir(parents=True, exist_ok=True)
            _keep(target / path, former / path)
    try:
        with ExitStack() as stack:
            for path in files:
                with held_folder(target / path, make=True):
                    part = stack.enter_context(atomic_path(target / path, source=new / path))
                copyfile(new / path, part)
        for name in left_out:
            remove(target / name)
    except BaseException as reason:
        try:
            whole = _is_put_back(former, target)
        except BaseException:  # a second signal
            whole = False
        if whole:
            raise
        kept = Path(mkdtemp(prefix="qse-former-"))
        former.rename(kept / target.name)
        cause = reason.strerror if isinstance(reason, OSError) else reason
        text = f"{cause}; the former files could not be put back: they are in {kept / target.name}"
        raise OSError(EIO, text, str(target)) from reason


def _keep(path: Path, copy: Path) -> None:
    """Copy a former file and its permissions, both as they are when it is opened."""
    with open(path, "rb", opener=open_found) as file, copy.open("wb") as to:
        copyfileobj(file, to)
        set_mode(to.fileno(), os.fstat(file.fileno()), Readers.of(file.fileno()))


def _is_put_back(former: Path, target: Path) -> bool:
    """Copy the files below `former` to `target` where they are not there; return whether all are
    there then."""
    whole = True
    for path in _files(former):
        try:
            if not (target / path).is_file() or not cmp(former / path, target / path, False):
                with atomic_path(target / path, source=former / path) as part:
                    copyfile(former / path, part)
        except OSError:
            whole = False
    return whole
