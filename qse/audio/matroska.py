"""Matroska and WebM files."""

import re
from functools import cached_property
from typing import TYPE_CHECKING

from .damage_text import named
from .ebml import damaged_places
from .inspection import Inspection
from .matroska_names import unread_names
from .probe import Track
from .probed import end_of

if TYPE_CHECKING:
    import soundfile

DURATION = re.compile(b"\x44\x89[\x84\x88]")  # its identifier, and the bytes of a float
EARLY = 0.1  # seconds
BEGINNING = 1 << 16  # bytes in which it lies


class Matroska(Inspection):
    """A file of this kind, with or without pictures."""

    family = "Matroska"
    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "Matroska" if head.startswith(b"\x1a\x45\xdf\xa3") else None

    def stated_seconds(self, track: Track) -> float:
        if self.media is None:
            return 0.0
        if self.media.pictures or len(self.media.tracks) > 1:
            return max(0.0, end_of(track.tags) - track.begin - self.media.begin)
        with self.path.open("rb") as file:
            is_stated = DURATION.search(file.read(BEGINNING))
        if not is_stated:  # ffprobe guesses it of PCM
            return 0.0
        return self.media.seconds - self.media.begin  # programs state when it ends, or how long

    def missing_at_end(self, file: "soundfile.SoundFile | None") -> str | None:
        # late sound is usual: a picture whose time is damaged comes far before it
        before = -self.media.begin if self.media else 0.0
        return f"{before:.2f} s before its begin may be heard" if before > EARLY else None

    def skipped_damage(self, sample_rate: int) -> str | None:
        return named(damaged_places(self.path))

    def names_beside_tags(self, names: list[str]) -> list[str]:
        return self._unread[0]

    def repeated(self) -> list[str]:
        return self._unread[1]

    @cached_property
    def _unread(self) -> tuple[list[str], list[str]]:
        return unread_names(self.path)
