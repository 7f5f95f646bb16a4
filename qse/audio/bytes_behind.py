"""Find bytes behind the samples of a file that may be further sound."""

import os
from errno import ENXIO
from typing import IO

from .ape import MARK
from .id3_frames import tag_size

STEP = 1 << 16  # bytes that are read at a time
SLACK = 64  # bytes that programs leave behind
TAGS = (b"TAG", MARK, b"LYRICSBEGIN", b"3DI")


def bytes_behind(file: IO[bytes], at: int) -> int:
    """Return how many bytes of an open file come from `at` on, 0 for zeros, tags of MP3, and SLACK
    bytes at most.

    Zeros before others do not count. Raises OSError.
    """
    size = file.seek(0, 2)
    file.seek(at)
    while block := file.read(STEP):
        rest = block.lstrip(b"\0")
        if rest:
            left = size - file.tell() + len(rest)
            is_tag = rest.startswith(TAGS) or tag_size(rest[:10])
            return 0 if is_tag or left <= SLACK else left
        file.seek(_stored(file, file.tell(), size))
    return 0


def _stored(file: IO[bytes], at: int, size: int) -> int:
    """Return where the bytes begin that a disk has stored from `at` on: a hole of a sparse file,
    which may be of any size, is zeros. size: of the file."""
    if not hasattr(os, "SEEK_DATA"):  # Windows
        return at
    descriptor = file.fileno()
    here = os.lseek(descriptor, 0, os.SEEK_CUR)  # which the file relies on
    try:
        return os.lseek(descriptor, at, os.SEEK_DATA)
    except OSError as error:  # also where the disk knows no holes
        return size if error.errno == ENXIO else at
    finally:
        os.lseek(descriptor, here, os.SEEK_SET)
