"""Write a folder atomically: it appears, or replaces the former one, when it is complete."""

import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory


@contextmanager
def replaced_folder(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """Yield an empty folder beside `folder`; at the end it takes the place of `folder`, which need
    not be there. After an exception `folder` is as it was.

    names: files that the new folder replaces or leaves out; all others move from the former folder
    into the new one. If `folder` is a link, the folder that it points to is replaced. Raises
    OSError where the folder cannot be written, on Windows also while one of its files is open.
    """
    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".qse-", dir=target.parent, ignore_cleanup_errors=True) as place:
        new = Path(place) / "new"
        new.mkdir()
        yield new
        _exchange(new, target, names)


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
