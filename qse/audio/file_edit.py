"""Replace bytes inside a file in place, moving what follows them."""

from typing import IO

PIECE = 1 << 20  # bytes that are moved at a time


def replace_bytes(file: IO[bytes], start: int, end: int, data: bytes) -> None:
    """Replace the bytes from offset `start` to `end` of an open file (mode r+b) by `data`, of any
    length.

    The file must be a temporary one: a failure in between leaves it in pieces.
    """
    size = file.seek(0, 2)
    shift = len(data) - (end - start)
    if shift > 0:
        _move_back(file, end, size, shift)
    elif shift < 0:
        _move_forward(file, end, size, shift)
    file.seek(start)
    file.write(data)


def _move_back(file: IO[bytes], start: int, end: int, shift: int) -> None:
    """Move the bytes from `start` to `end` towards the end of the file, the last ones first."""
    while end > start:
        begin = max(start, end - PIECE)
        file.seek(begin)
        piece = file.read(end - begin)
        file.seek(begin + shift)
        file.write(piece)
        end = begin


def _move_forward(file: IO[bytes], start: int, end: int, shift: int) -> None:
    """Move the bytes from `start` to `end` towards the beginning of the file, and cut what is
    left over."""
    while start < end:
        file.seek(start)
        piece = file.read(min(PIECE, end - start))
        file.seek(start + shift)
        file.write(piece)
        start += len(piece)
    file.truncate(end + shift)
