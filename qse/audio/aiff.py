"""AIFF and AIFF-C files."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

from .chunked import Chunked
from .chunks import Dialect
from .core_audio import layout_in, mask_of
from .formats import BYTES, frame_bytes
from .inspection import SLOPPY
from .stated_size import is_open

if TYPE_CHECKING:
    import soundfile

OFFSETS = struct.Struct(">II")  # with which the chunk of samples begins: of these, and of blocks
BESIDE = OFFSETS.size
AIFF = Dialect("AIFF", (b"COMM", b"SSND", b"FVER", b"PEAK"), "big", sound=b"SSND")


class Aiff(Chunked):
    """A file of one of these kinds."""

    family = "AIFF"
    dialect = AIFF
    formats = ("AIFF",)
    copies_to = ("AIFF",)
    muxer = "aiff"
    holds_cover = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "AIFF" if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC") else None

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        """Return how much is not read, or how many samples are lacking of those that the header
        counts, as where it states that they begin later, or other channels."""
        if damage := super().hidden_damage(file):
            return damage
        lacking = self._lacking(file)
        if lacking * frame_bytes(file.channels, file.subtype) <= SLOPPY:
            return self._later
        return f"its header states {lacking} more samples than can be read"

    def skipped_damage(self, sample_rate: int) -> str | None:
        return super().skipped_damage(sample_rate) or self._later

    @property
    def _later(self) -> str | None:
        """Return that the samples begin later in their chunk, which they do where they are aligned
        to blocks alone."""
        chunk = self.container.sound if self.container else None
        if self.container is None or chunk is None:
            return None
        with self.path.open("rb") as file:
            file.seek(chunk.at)
            offset, block = OFFSETS.unpack(file.read(BESIDE).ljust(BESIDE, b"\0"))
        if not offset or offset < block:
            return None
        return f"its header leaves out {offset} bytes of sound"

    def _missing_bytes(self, file: soundfile.SoundFile) -> tuple[int, int]:
        missing, stated = super()._missing_bytes(file)
        lacking = self._lacking(file) * frame_bytes(file.channels, file.subtype)
        return max(missing, lacking), stated - BESIDE

    def _lacking(self, file: soundfile.SoundFile) -> int:
        """Return how many samples per channel are fewer than the header counts."""
        chunk = self.container.find(b"COMM") if self.container else None
        if self.container is None or chunk is None or file.subtype not in BYTES:
            return 0
        stated = int.from_bytes(self.container.body(chunk)[2:6], "big")
        if is_open(stated * frame_bytes(file.channels, file.subtype)):
            return 0
        return max(0, stated - file.frames)

    @cached_property
    def channel_mask(self) -> int | None:
        return mask_of(layout_in(self.container))

    @classmethod
    def mapping_options(cls, place: str) -> list[str]:
        return [*super().mapping_options(place), "-write_id3v2", "1"]
