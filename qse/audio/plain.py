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
SHORT = 512  # bytes of a text that may be of any coding
MOST_ZEROS = 256  # bytes behind it
CONTROL = re.compile(rb"[\0-\x08\x0b\x0e-\x1f\x7f]")
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

    @property
    def _start(self) -> int:
        """Return where the samples begin, by the header."""
        with self.path.open("rb") as file:
            return int.from_bytes(file.read(AU_HEADER)[4:8], "big")

    @property
    def _text(self) -> bytes:
        """Return what stands before the samples, MOST_TEXT bytes at most."""
        with self.path.open("rb") as file:
            file.seek(AU_HEADER)
            return file.read(min(max(0, self._start - AU_HEADER), MOST_TEXT))

    def unread(self) -> int:
        with self.path.open("rb") as file:
            file.seek(8)
            size = int.from_bytes(file.read(4), "big")
            return 0 if size == UNKNOWN else bytes_behind(file, self._start + size)

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        return super().hidden_damage(file) or self._untold

    def skipped_damage(self, sample_rate: int) -> str | None:
        return super().skipped_damage(sample_rate) or self._untold

    @property
    def _untold(self) -> str | None:
        """Return that samples may stand before the place where the header lets them begin."""
        text = self._text.rstrip(b"\0")
        zeros = self._start - AU_HEADER - len(text)
        is_text = not CONTROL.search(text) and (len(text) <= SHORT or _is_utf8(text))
        if is_text and zeros <= MOST_ZEROS:
            return None
        return f"its header states that the samples begin at byte {self._start}, behind no text"

    def names(self) -> list[str]:
        return ["annotation"] if self._text.strip(b"\0 ") else []


def _is_utf8(text: bytes) -> bool:
    try:
        return bool(text.decode())
    except UnicodeDecodeError:
        return False


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
