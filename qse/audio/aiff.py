"""AIFF and AIFF-C files."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

from .checks import UNCHECKED
from .chunked import Chunked
from .chunks import Dialect
from .core_audio import layout_in, mask_of
from .formats import BYTES, frame_bytes
from .inspection import SLOPPY
from .stated_size import is_open

if TYPE_CHECKING:
    import soundfile

    from .probe import Track

OFFSETS = struct.Struct(">II")  # with which the chunk of samples begins: of these, and of blocks
BESIDE = OFFSETS.size
# bytes of a block of a channel, and for how many samples the header counts one
BLOCKS = {"IMA_ADPCM": (34, 1), "GSM610": (33, 160)}
IMA = b"ima4"
IMA_BLOCK = 64  # samples
# codings of which the header counts the samples
COUNTED = b"NONE twos sowt raw  in24 in32 fl32 FL32 fl64 FL64 alaw ALAW ulaw ULAW GSM ".split(b" ")
MOST_BEHIND = 4096  # bytes of further samples, which fill the last block of a disk
AIFF = Dialect("AIFF", (b"COMM", b"SSND", b"FVER", b"PEAK"), "big", sound=b"SSND")


class Aiff(Chunked):
    """A file of one of these kinds."""

    family = "AIFF"
    dialect = AIFF
    formats = ("AIFF",)
    copies_to = ("AIFF",)
    muxer = "aiff"
    holds_cover = True
    states_all = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "AIFF" if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC") else None

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        """Return how much is not read, or how many samples are lacking of those that the header
        counts, as where it states that they begin later, or other channels."""
        if damage := super().hidden_damage(file):
            return damage
        lacking = self._lacking(file)
        if lacking * frame_bytes(file.channels, file.subtype) > SLOPPY:
            return f"its header states {lacking} more samples than can be read"
        return self._other_count(file) or self._later

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

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        is_unknown = file is not None and file.subtype.startswith("DWVW")
        return UNCHECKED if is_unknown else super().missing_at_end(file)

    def stated_seconds(self, track: Track) -> float:
        channels = int.from_bytes(self._common[:2], "big")
        bits = int.from_bytes(self._common[6:8], "big")
        if not track.sample_rate or is_open(self._count * channels * -(-bits // 8)):
            return 0.0
        coding = self._common[18:22] or COUNTED[0]
        each = IMA_BLOCK if coding == IMA else int(coding in COUNTED)
        return self._count * each / track.sample_rate

    @property
    def _common(self) -> bytes:
        """Return the body of the chunk that states count, channels and coding of the samples."""
        chunk = self.container.find(b"COMM") if self.container else None
        return self.container.body(chunk) if self.container and chunk else b""

    @property
    def _count(self) -> int:
        """Return how many samples, or blocks, per channel the header counts."""
        return int.from_bytes(self._common[2:6], "big")

    def _lacking(self, file: soundfile.SoundFile) -> int:
        """Return how many samples per channel are fewer than the header counts."""
        is_unknown = is_open(self._count * frame_bytes(file.channels, file.subtype))
        if file.subtype not in BYTES or is_unknown:
            return 0
        return max(0, self._count - file.frames)

    def _other_count(self, file: soundfile.SoundFile) -> str | None:
        """Return in words that the header counts other samples, or blocks, than are there."""
        sound = self.container.sound if self.container else None
        if not self._count or sound is None:
            return None
        if file.subtype in BYTES:
            behind = file.frames - self._count
            if behind * frame_bytes(file.channels, file.subtype) <= MOST_BEHIND:
                return None
            return f"its header states {self._count} samples, and {file.frames} are there"
        if file.subtype not in BLOCKS:
            return None
        size, samples = BLOCKS[file.subtype]
        stated = -(-self._count // samples)
        there = (sound.size - BESIDE) // (size * file.channels)
        # libsndfile divides those of ADPCM by the channels
        if min(abs(stated - there), abs(stated - there // file.channels)) <= 1:
            return None
        return f"its header states {stated} blocks for a channel, and {there} are there"

    @cached_property
    def channel_mask(self) -> int | None:
        return mask_of(layout_in(self.container))

    @classmethod
    def mapping_options(cls, place: str) -> list[str]:
        return [*super().mapping_options(place), "-write_id3v2", "1"]
