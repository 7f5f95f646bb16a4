"""What an audio file says of its own length, to tell a file that lost its end: libsndfile reads on without a word.

The rest is told while decoding: a FLAC file breaks off with an error.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import soundfile

STREAMED = 0x7FFFF000  # a program that writes into a pipe leaves a length of this or more in a WAV header
SLOPPY = 64  # bytes by which a header may be wrong for other reasons, such as counting itself


def is_cut(path: Path, file: soundfile.SoundFile) -> bool:
    """Whether the end is missing, as far as the container tells: lengths in headers, the last page of an Ogg file."""
    if file.format == "OGG":
        return not _ogg_ends(path)
    if file.format == "MP3":
        return 0.99 * _mp3_size(path) > path.stat().st_size
    sizes = re.findall(r"(?:data|SSND|Data Size|riff|Riff size)\s*:\s*(\d+) \(should be (\d+)\)", file.extra_info)
    return any(int(there) + SLOPPY < int(announced) < STREAMED for announced, there in sizes)


def _ogg_ends(path: Path) -> bool:
    """Whether the last page is complete and marked as the end of its stream (RFC 3533, section 6)."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - (1 << 16)))
        tail = file.read()
    page = tail[max(0, tail.rfind(b"OggS")) :]
    header = 27 + page[26] if len(page) > 26 else len(page) + 1
    return len(page) >= header + sum(page[27:header]) and bool(page[5] & 4)


def _mp3_size(path: Path) -> int:
    """The least size in bytes that an MP3 file's own Xing or Info header announces, 0 if it has none."""
    with path.open("rb") as file:
        head = file.read(10)
        start = 0
        if head[:3] == b"ID3":  # four bytes of seven bits each, without the ten of this header itself
            start = 10 + sum(byte << shift for byte, shift in zip(head[6:10], (21, 14, 7, 0), strict=True))
        file.seek(start)
        head = file.read(256)
    at = max(head.find(b"Xing"), head.find(b"Info"))
    flags = head[at + 7] if at >= 0 else 0
    size = at + 8 + 4 * (flags & 1)
    return start + int.from_bytes(head[size : size + 4], "big") if flags & 2 else 0
