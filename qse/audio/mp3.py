"""MP3 files."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from .bit_rate import BitRate
from .copied import Copied
from .damage_text import named
from .id3 import copy_tags, front_end, repeated_items, tags_in
from .inspection import Inspection
from .mp3_frames import FEW_ZEROS, Frames, rate_of, read_frames
from .mp3_header import FirstFrame, first_frame
from .tagged import Tagged

if TYPE_CHECKING:
    import soundfile

UNREAD = (  # frames that ffmpeg does not read as tags
    *("GEOB", "POPM", "PCNT", "SYLT", "UFID", "ETCO", "MCDI", "SYTC", "COMR", "ENCR", "OWNE"),
    "USER",
)


class Mp3(Tagged):
    """A file of this kind, or one that begins with an ID3 tag and is of no other kind.

    first: its first frame.
    """

    family = "MP3"
    formats = ("MP3",)
    copies_to = ("MP3",)
    muxer = "mp3"
    has_times = False
    ends_at_damage = True
    # at a tag between joined files; the last one since version 7
    harmless = (
        b"Header missing",
        b"Error while decoding stream",
        b"Error submitting packet to decoder",
    )

    first: FirstFrame

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        """Return MP3 if a frame of layer III begins here."""
        is_frame = len(head) > 3 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2
        return "MP3" if is_frame and head[2] >> 4 not in (0, 15) else None

    @classmethod
    def of(cls, path: Path, kind: str | None, file: IO[bytes], head: bytes) -> Self:
        found = super().of(path, kind, file, head)
        start = front_end(file)
        found.first = first_frame(file, start)
        with suppress(ValueError):  # that is raised where tags are asked for
            found.tags = tags_in(file, start)
        return found

    @cached_property
    def frames(self) -> Frames:
        """Return what the headers of all frames say."""
        return read_frames(self.path)

    @property
    def first_rate(self) -> int:
        return rate_of(self.first.head)

    def is_cut(self, file: soundfile.SoundFile) -> bool:
        return 0.99 * self.first.size > self.state.st_size

    def says_length(self) -> bool:
        return self.first.says_length and self.first_rate > 0  # else that frame is damaged

    def announced(self, file: soundfile.SoundFile) -> int | None:
        return file.frames if self.says_length() else None

    def has_more(self, file: soundfile.SoundFile) -> bool:
        """Return whether libsndfile reads less than there is, or is stated: of joined files, of a
        variable bit rate without a length, behind a damaged beginning."""
        if file.subtype != "MPEG_LAYER_III":
            return False
        few = 2 * self.first.length  # some programs count the frame that states the length
        there = self.frames.samples
        if not self.says_length():  # it is estimated, and what lies behind that is not read
            return there > file.frames + few
        stated = self.first.frames * self.first.length
        return there > stated + few or self.first.samples > file.frames + few

    def is_read_in_part(self, file: soundfile.SoundFile) -> bool:
        return file.subtype == "MPEG_LAYER_III"

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        if not self.says_length() or self.frames.changes:
            return self.skipped_damage(file.samplerate)
        if damage := named(self.frames.between().places(file.samplerate)):
            return damage
        lacking = self.first.frames - self.frames.samples // self.first.length + 1
        if lacking <= 0 or self.frames.size >= self.first.size - self.first.start:
            return None
        return f"its header states {lacking} more frames than there are"

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        if self.first.is_changed:
            return "the frame that states its length differs from its checksum"
        if self.frames.zeros > FEW_ZEROS and not self.says_length():
            return f"{self.frames.zeros} zeros stand in place of its first or last frames, perhaps"
        return super().missing_at_end(file)

    def skipped_damage(self, sample_rate: int) -> str | None:
        return named(self.frames.places(self.first_rate or sample_rate))

    def bit_rate(self, subtype: str, seconds: float | None) -> BitRate | None:
        try:
            tags = self.tags
        except ValueError:
            return None
        if kbit := self.first.constant_kbit:
            return BitRate(kbit, is_constant=True)
        sound = self.state.st_size - len(tags.front) - len(tags.back)
        return BitRate(sound / 125 / seconds) if seconds else None

    def names_beside_tags(self, names: list[str]) -> list[str]:
        return [*(name for name in names if name in UNREAD), *self.unread_at_end()]

    def repeated(self) -> list[str]:
        with suppress(ValueError):
            return [*super().repeated(), *repeated_items(self.tags)]
        return []

    def copy_into(self, part: Inspection, same_coding: bool, samples: int) -> Copied:
        return Copied(dropped=copy_tags(self.tags, part.path))
