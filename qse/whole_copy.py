"""Copy all that a stream reads to another one, also where they do not block, or take a part."""

import select
from typing import Any

STEP = 1 << 16  # bytes that are copied at a time


def copy_whole(source: Any, target: Any) -> None:
    """Copy what `source` reads, up to its end, to `target`, both open in a binary mode.

    A raw stream writes a part of what it gets, and one that does not block reads None where there
    is nothing yet: `shutil.copyfileobj` takes both for done. Raises OSError.
    """
    while (data := source.read(STEP)) != b"":
        if data is None:
            select.select([source], [], [])
            continue
        _write_all(target, memoryview(data))
    _flush(target)


def _write_all(target: Any, data: memoryview) -> None:
    while data:
        try:
            count = target.write(data) or 0
        except BlockingIOError as error:
            count = error.characters_written
        data = data[count:]
        if data and not count:
            select.select([], [target], [])


def _flush(target: Any) -> None:
    while True:
        try:
            target.flush()
            return
        except BlockingIOError:
            select.select([], [target], [])
