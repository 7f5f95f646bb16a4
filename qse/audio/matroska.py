"""Matroska and WebM files."""

from .damage_text import named
from .ebml import damaged_places
from .inspection import Inspection
from .probe import Track


class Matroska(Inspection):
    """A file of this kind, with or without pictures."""

    family = "Matroska"
    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "Matroska" if head.startswith(b"\x1a\x45\xdf\xa3") else None

    def stated_seconds(self, track: Track) -> float:
        if self.media is None or self.media.pictures or len(self.media.tracks) > 1:
            return 0.0
        is_guess = track.codec.startswith("pcm_")  # by the size of a file that states none
        return 0.0 if is_guess else self.media.seconds

    def skipped_damage(self, sample_rate: int) -> str | None:
        return named(damaged_places(self.path))
