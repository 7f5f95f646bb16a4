"""Find where the samples of a TTA file end, which its table of frames states."""

import struct
from pathlib import Path

import numpy as np

from .file_bytes import FileBytes
from .id3 import front_end
from .mp3_frames import behind_tags

# sign, coding, channels, bits, sample rate, samples, checksum
HEADER = struct.Struct("<4s3H3I")
CHECKSUM = 4  # bytes behind the table
FRAMES = 245, 256  # a frame lasts 256/245 s


def unread_bytes(path: Path) -> int:
    """Return how many bytes behind the samples may be further sound. Raises OSError."""
    with path.open("rb") as file:
        begin = front_end(file)
        file.seek(begin)
        head = file.read(HEADER.size)
        if len(head) < HEADER.size:
            return 0
        _, _, _, _, rate, samples, _ = HEADER.unpack(head)
        length = max(1, rate * FRAMES[1] // FRAMES[0])
        count = -(-samples // length)
        sizes = np.frombuffer(file.read(min(4 * count, path.stat().st_size)), "<u4")
        if len(sizes) < count:
            return 0
        end = file.tell() + CHECKSUM + int(sizes.sum(dtype=np.int64))
        data = FileBytes(file)
        return max(0, len(data) - behind_tags(data, end, len(data)))
