"""AAC files of frames with a header each (ADTS, ISO/IEC 13818-7, 6.2)."""

import re
from collections.abc import Iterator
from functools import cached_property

from .damage_text import named, note
from .file_bytes import FileBytes
from .id3_frames import tag_size
from .inspection import Inspection
from .mp3_frames import Frames, behind_tags, holds_frames

LENGTH = 1024  # samples of a block; a frame has one to four
HEADER = 7  # bytes
HEAD = re.compile(rb"\xff[\xf0\xf1\xf8\xf9]")  # how a frame begins
RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350)


class Adts(Inspection):
    """A file of this kind. ffmpeg leaves out frames that are damaged, and fills the place of those
    at another sample rate with silence."""

    family = "AAC"
    needs_ffmpeg = True
    has_times = False

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        is_adts = len(head) > 6 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0
        return "AAC" if is_adts else None

    @cached_property
    def frames(self) -> Frames:
        """Return what the headers of all frames say, with the samples at the rate they state."""
        samples = 0
        holes: list[int] = []
        changes: list[int] = []
        first = None
        with self.path.open("rb") as file:
            data = FileBytes(file)
            end = tag_size(data[:10])
            for at, size, length, form in _frames(data):
                is_swollen = not samples and holds_frames(
                    data, 0, at, HEAD, lambda header: _frame(header)[0]
                )
                if behind_tags(data, end, at) < at or is_swollen:
                    note(holes, samples)
                first = first or form
                if form != first:
                    note(changes, samples)
                    first = form
                end = at + size
                samples += length
            if behind_tags(data, end, len(data)) < len(data):
                note(holes, samples)
            return Frames(samples, tuple(holes), end > len(data), tuple(changes))

    @property
    def first_rate(self) -> int:
        with self.path.open("rb") as file:
            data = FileBytes(file)
            at = next((at for at, *_ in _frames(data)), len(data))
            header = data[at : at + HEADER]
        index = header[2] >> 2 & 15 if header else 0
        return RATES[index] if index < len(RATES) else RATES[0]

    def skipped_damage(self, sample_rate: int) -> str | None:
        return named(self.frames.places(self.first_rate))


def _frames(data: FileBytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield offset, bytes, samples, and what must not change, of each frame."""
    at = tag_size(data[:10])
    end = at
    while 0 <= at < len(data):
        size, length, form = _frame(data[at : at + HEADER])
        if not size or (at > end and not _frame(data[at + size : at + size + HEADER])[0]):
            at = data.find(b"\xff", at + 1)
            continue
        yield at, size, length, form
        at += size
        end = at


def _frame(header: bytes) -> tuple[int, int, bytes]:
    """Return bytes, samples, and what must not change, of the frame with this header; 0 bytes if it
    is none."""
    if len(header) < HEADER or header[0] != 0xFF or header[1] & 0xF6 != 0xF0:
        return 0, 0, b""
    size = (header[3] & 3) << 11 | header[4] << 3 | header[5] >> 5
    if size < HEADER:
        return 0, 0, b""
    # rate, and channels
    return size, LENGTH * (1 + (header[6] & 3)), bytes([header[2] & 0x3D, header[3] & 0xC0])
