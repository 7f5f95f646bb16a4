"""AU and NIST SPHERE files, to which no metadata are written."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from .bytes_behind import bytes_behind
from .inspection import Inspection

if TYPE_CHECKING:
    import soundfile

AU_HEADER = 24  # bytes before the text in the header
UNKNOWN = 0xFFFFFFFF  # bytes of samples of a file that goes to its end
MOST_TEXT = 1 << 16  # bytes of it
NIST_HEADER = 1024  # bytes
NIST_LINE = re.compile(rb"^(\w+) -(?:i|s\d+) (\S+)", re.MULTILINE)


class Au(Inspection):
    """A file of NeXT and Sun."""

    family = "AU"
    has_times = False
    formats = ("AU",)

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "AU" if head[:4] == b".snd" else None

    def unread(self) -> int:
        with self.path.open("rb") as file:
            file.seek(4)
            start = int.from_bytes(file.read(4), "big")
            size = int.from_bytes(file.read(4), "big")
            return 0 if size == UNKNOWN else bytes_behind(file, start + size)

    def names(self) -> list[str]:
        with self.path.open("rb") as file:
            head = file.read(AU_HEADER)
            start = int.from_bytes(head[4:8], "big")
            text = file.read(min(max(0, start - AU_HEADER), MOST_TEXT))
        return ["annotation"] if text.strip(b"\0 ") else []


class Nist(Inspection):
    """A file of NIST SPHERE."""

    family = "NIST"
    has_times = False
    formats = ("NIST",)

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "NIST" if head.startswith(b"NIST_1A") else None

    @cached_property
    def header(self) -> dict[bytes, bytes]:
        """Return what the header states of numbers and words."""
        with self.path.open("rb") as file:
            return dict(NIST_LINE.findall(file.read(NIST_HEADER)))

    @property
    def stated(self) -> int:
        """Return the samples per channel by the header, 0 if it does not say."""
        count = self.header.get(b"sample_count", b"")
        return int(count) if count.isdigit() else 0

    def is_cut(self, file: soundfile.SoundFile) -> bool:
        return self.stated > file.frames

    def announced(self, file: soundfile.SoundFile) -> int | None:
        return self.stated

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        if self.stated == file.frames:
            return self._unstated
        return f"its header states {self.stated} samples, and {file.frames} are there"

    def skipped_damage(self, sample_rate: int) -> str | None:
        return super().skipped_damage(sample_rate) or self._unstated

    @property
    def _unstated(self) -> str | None:
        """Return what the header does not say of the samples, which decoders would guess."""
        is_byte = self.header.get(b"sample_n_bytes", b"1") == b"1"
        if is_byte and b"sample_coding" not in self.header:
            return "its header states no coding of its samples"
        if not is_byte and b"sample_byte_format" not in self.header:
            return "its header states no byte order of its samples"
        return None
