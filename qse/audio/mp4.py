"""MP4 and QuickTime files."""

from pathlib import Path

from .inspection import Inspection
from .mp4_items import copy_items
from .suffixes import M4A, MediaForm

# behind the size of the first atom
ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"pnot")


class Mp4(Inspection):
    """A file of this kind, with or without pictures."""

    family = "MP4"
    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "MP4" if head[4:8] in ATOMS else None

    def complete(self, part: Path, form: MediaForm) -> list[str]:
        return copy_items(self.path, part) if form == M4A else []
