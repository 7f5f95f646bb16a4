"""MP2 files (MPEG audio, layer II): ffmpeg leaves out what is no frame, often without a word."""

from __future__ import annotations

import re

from .damage_text import named, note
from .file_bytes import FileBytes
from .inspection import Inspection
from .mp3_frames import MOST_ZEROS, behind_tags, holds_frames
from .mp3_header import MP3_RATES, frame_size

# the first bytes of a frame: its sync word, version, and a bit rate
HEAD = re.compile(rb"\xff[\xf4\xf5\xfc\xfd][\x10-\xef]", re.DOTALL)
RATES = (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384)  # kbit/s, MPEG 1
LENGTH = 1152  # samples of a frame


class Mp2(Inspection):
    """A file of this kind."""

    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        is_frame = len(head) > 3 and head[0] == 0xFF and head[1] & 0xE6 == 0xE4
        return "MP2" if is_frame and head[2] >> 4 not in (0, 15) else None

    def skipped_damage(self, sample_rate: int) -> str | None:
        places: list[str] = []
        frames = 0
        with self.path.open("rb") as file:
            data = FileBytes(file)
            at = behind_tags(data, 0, len(data))
            if holds_frames(data, 0, at, HEAD, _frame_size):
                note(places, "frames lie within the tag at its beginning")
            while at < len(data):
                if size := _frame_size(data[at : at + 4]):
                    at += size
                    frames += 1
                    if at > len(data):
                        note(places, "its last frame is cut")
                    continue
                behind = _next_frame(data, at)
                zeros = data.behind_zeros(at, len(data)) - at
                if behind < len(data) or behind_tags(data, at, behind) < behind:
                    note(places, f"bytes are no frames at {frames * LENGTH / sample_rate:.2f} s")
                elif zeros > MOST_ZEROS:
                    note(places, f"{zeros} zeros follow its last frame")
                at = behind
        return named(places)


def _next_frame(data: FileBytes, at: int) -> int:
    """Return where the next frame begins that another one follows, or the end of the file."""
    while (at := data.search(HEAD, at + 1, 3)) >= 0:
        size = _frame_size(data[at : at + 4])
        if size and (at + size >= len(data) or _frame_size(data[at + size : at + size + 4])):
            return at
    return len(data)


def _frame_size(header: bytes) -> int:
    """Return the bytes of the frame with this header (ISO/IEC 11172-3, 2.4.2.3); 0 for another."""
    if len(header) < 4 or not HEAD.match(header) or header[2] & 0x0C == 0x0C:
        return 0
    version = header[1] >> 3 & 3  # 3: MPEG 1, 2: MPEG 2
    kbits = (RATES if version == 3 else MP3_RATES[1])[header[2] >> 4]
    return frame_size(header, LENGTH, kbits)
