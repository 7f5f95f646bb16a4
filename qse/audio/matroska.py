"""Matroska and WebM files."""

from .inspection import Inspection


class Matroska(Inspection):
    """A file of this kind, with or without pictures."""

    family = "Matroska"
    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "Matroska" if head.startswith(b"\x1a\x45\xdf\xa3") else None
