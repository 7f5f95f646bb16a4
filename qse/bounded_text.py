"""Read text files that may come from anywhere: a file that takes no place on a disk can be larger
than the memory."""

import errno
from collections.abc import Callable
from pathlib import Path

from .errors import QseError

LONGEST_TABLE = 1 << 25  # characters of a table; a long run writes some MB
MOST_CELLS = 1 << 22  # of a table, each of which takes more memory than its text
MOST_COLUMNS = 1000  # whose names take more memory still
CELLS_OF_A_LINE = 4  # cells that take the memory of a line itself
Opener = Callable[[str, int], int]


def read_text(
    path: Path,
    most: int,
    cure: str = "",
    newline: str | None = None,
    errors: str = "strict",
    opener: Opener | None = None,
) -> str:
    """Return the text of a file in UTF-8. `newline`, `errors` and `opener` are those of `open`.

    Raises OSError also for what is no regular file, ValueError for another encoding, and QseError,
    with the `cure`, for more than `most` characters: not many more are read.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file")  # a pipe would wait for its other end
    with open(path, encoding="utf-8", errors=errors, newline=newline, opener=opener) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise QseError(_with_cure(f"{path}: has more than {most} characters", cure))
    return text


def read_table_text(
    path: Path, cure: str, errors: str = "strict", opener: Opener | None = None
) -> str:
    """Return the text of a CSV file with its ends of lines, for `csv`. errors, opener: as of
    `open`.

    Raises as `read_text`, and QseError for more cells or columns than a table of this library has.
    """
    text = read_text(path, LONGEST_TABLE, cure, newline="", errors=errors, opener=opener)
    lines = max(text.count("\n"), text.count("\r"))
    cells = text.count(",") + CELLS_OF_A_LINE * lines
    header = text.partition("\n")[0].partition("\r")[0]
    if cells > MOST_CELLS or header.count(",") > MOST_COLUMNS:
        raise QseError(_with_cure(f"{path}: has too many lines and columns", cure))
    return text


def _with_cure(fault: str, cure: str) -> str:
    return f"{fault}; {cure}" if cure else fault
