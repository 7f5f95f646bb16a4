"""Matroska and WebM files."""

from .damage_text import named
from .ebml import damaged_places
from .inspection import Inspection


class Matroska(Inspection):
    """A file of this kind, with or without pictures."""

    family = "Matroska"
    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "Matroska" if head.startswith(b"\x1a\x45\xdf\xa3") else None

    def skipped_damage(self, sample_rate: int) -> str | None:
        return named(damaged_places(self.path))
