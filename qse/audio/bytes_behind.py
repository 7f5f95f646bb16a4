"""Find bytes behind the samples of a file that may be further sound."""

from typing import IO

from .id3_frames import tag_size

STEP = 1 << 16  # bytes that are read at a time
SLACK = 64  # bytes that programs leave behind
TAGS = (b"TAG", b"APETAGEX", b"LYRICSBEGIN", b"3DI")


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
    return 0
