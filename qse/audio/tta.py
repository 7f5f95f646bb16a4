"""TTA files: ffmpeg does not read what lies behind the samples, as another file."""

import struct
from pathlib import Path

import numpy as np

from .ape import items_in
from .file_bytes import FileBytes
from .id3 import TOO_LARGE, Mp3Tags, few_tags, frame_names, front_end, repeated_items
from .inspection import Inspection
from .mp3_frames import behind_tags
from .probe import Track

SIGN = b"TTA1"
HEADER = struct.Struct("<10x2I4x")  # sample rate and samples
CHECKSUM = 4  # bytes behind the table of frames
MOST = 1 << 22  # frames: weeks of sound


class Tta(Inspection):
    """A file of this kind."""

    needs_ffmpeg = True
    states_all = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "TTA" if head.startswith(SIGN) else None

    def skipped_damage(self, sample_rate: int) -> str | None:
        unread = unread_bytes(self.path)
        return f"{unread} bytes behind its samples are not read" if unread else None

    def stated_seconds(self, track: Track) -> float:
        return track.lasts

    def names_beside_tags(self, names: list[str]) -> list[str]:
        """Return those of the tag in front where there is one behind, which ffmpeg prefers."""
        tags = few_tags(self.path)
        if tags is None:
            return [TOO_LARGE]
        return frame_names(Mp3Tags(tags.front, b"")) if items_in(tags.back) else []

    def repeated(self) -> list[str]:
        return repeated_items(few_tags(self.path))


def unread_bytes(path: Path) -> int:
    """Return how many bytes behind the samples, whose table states where they end, may be further
    sound. Raises OSError."""
    with path.open("rb") as file:
        file.seek(front_end(file))
        head = file.read(HEADER.size)
        if len(head) < HEADER.size:
            return 0
        rate, samples = HEADER.unpack(head)
        length = max(1, rate * 256 // 245)  # samples of a frame
        count = -(-samples // length)
        table = file.read(4 * min(count, MOST))
        if len(table) < 4 * count:
            return 0
        sizes = np.frombuffer(table, "<u4")
        end = file.tell() + CHECKSUM + int(sizes.sum(dtype=np.int64))
        data = FileBytes(file)
        return max(0, len(data) - behind_tags(data, end, len(data)))
