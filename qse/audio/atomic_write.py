"""A file that appears whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yields a name beside `path` to write to: it takes the place of `path` if all goes well, and goes if not.

    Of a link it takes the place of what that points to; a file that is replaced hands on its permissions.
    """
    path = Path(os.path.realpath(path))
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield beside
        with suppress(OSError):  # there is none, or its disk knows no permissions
            shutil.copymode(path, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """`text` as a whole file, in UTF-8."""
    with whole(path) as beside:
        beside.write_text(text, encoding="utf-8")
