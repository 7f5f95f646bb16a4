"""AIFF and AIFF-C files."""

from functools import cached_property

from .chunked import Chunked
from .chunks import Dialect
from .core_audio import mask_of

AIFF = Dialect("AIFF", (b"COMM", b"SSND", b"FVER", b"PEAK"), "big", sound=b"SSND")


class Aiff(Chunked):
    """A file of one of these kinds."""

    family = "AIFF"
    formats = ("AIFF",)
    copies_to = ("AIFF",)
    muxer = "aiff"
    holds_cover = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "AIFF" if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC") else None

    @classmethod
    def dialect_of(cls, head: bytes) -> Dialect:
        return AIFF

    @cached_property
    def channel_mask(self) -> int | None:
        if self.container is None:
            return None
        chunk = self.container.find(b"chan") or self.container.find(b"CHAN")
        return mask_of(self.container.body(chunk)) if chunk else None

    @classmethod
    def mapping_options(cls, place: str) -> list[str]:
        return [*super().mapping_options(place), "-write_id3v2", "1"]
