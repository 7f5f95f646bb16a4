"""Core Audio files (CAF)."""

from functools import cached_property

from .chunked import Chunked
from .chunks import Dialect
from .core_audio import bitmap, mask_of
from .file_edit import replace_bytes

AUDIO = (b"desc", b"data", b"kuki", b"pakt", b"free")
CAF = Dialect("CAF", AUDIO, "big", header=8, size_at=None, size_bytes=8, padding=1)


class Caf(Chunked):
    """A file of this kind."""

    family = "CAF"
    formats = ("CAF",)
    copies_to = ("CAF",)
    muxer = "caf"

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "CAF" if head[:4] == b"caff" else None

    @classmethod
    def dialect_of(cls, head: bytes) -> Dialect:
        return CAF

    @cached_property
    def channel_mask(self) -> int | None:
        chunk = self.container.find(b"chan") if self.container else None
        return mask_of(self.container.body(chunk)) if self.container and chunk else None

    def state_mask(self, mask: int, channels: int) -> bool:
        sound = self.container.sound if self.container else None
        if self.container is None or sound is None or self.container.find(b"chan"):
            return False
        start = sound.at - CAF.head
        with self.path.open("r+b") as file:
            replace_bytes(file, start, start, CAF.write(b"chan", bitmap(mask)))
        return True
