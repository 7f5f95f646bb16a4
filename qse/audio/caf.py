"""Core Audio files (CAF)."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

from .caf_packets import LONGEST_PACKET, Packets, contradiction, least_samples
from .chunked import Chunked
from .chunks import Dialect
from .core_audio import bitmap, layout_in, mask_of
from .file_edit import replace_bytes

if TYPE_CHECKING:
    import soundfile

    from .probe import Track

AUDIO = (b"desc", b"data", b"kuki", b"pakt", b"free")
LATE = 0.1  # seconds
RATE = struct.Struct(">d")  # with which the chunk `desc` begins
EDITS = 4  # bytes before the samples
CAF = Dialect("CAF", AUDIO, "big", header=8, size_at=None, size_bytes=8, padding=1)


class Caf(Chunked):
    """A file of this kind."""

    family = "CAF"
    dialect = CAF
    formats = ("CAF",)
    copies_to = ("CAF",)
    muxer = "caf"

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "CAF" if head[:4] == b"caff" else None

    @cached_property
    def packets(self) -> Packets | None:
        """Return what the packet table states, None where there is none."""
        chunk = self.container.find(b"pakt") if self.container else None
        return Packets.of(self.container.body(chunk)) if self.container and chunk else None

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        if found := super().hidden_damage(file) or self._contradiction:
            return found
        missing = self.packets.valid - file.frames if self.packets else 0
        if 0 < missing < 1 << 40 and missing >= LONGEST_PACKET:
            return f"its packet table states {missing} more samples than can be read"
        return None

    def skipped_damage(self, sample_rate: int) -> str | None:
        return super().skipped_damage(sample_rate) or self._contradiction

    def stated_seconds(self, track: Track) -> float:
        if not self.packets or not track.sample_rate:
            return 0.0
        return least_samples(self._description, self.packets.valid) / track.sample_rate

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        """Return, where ffmpeg reads the file, that it may not leave out what an encoder put in
        front: versions up to 7 do not."""
        (rate,) = RATE.unpack(self._description[: RATE.size].ljust(RATE.size, b"\0"))
        before = self.packets.before / rate if self.packets and rate > 0 else 0.0
        if not file and before > LATE + (self.media.tracks[0].left_out if self.media else 0.0):
            return f"{before:.2f} s in front of its sound, by its packet table, may be heard"
        return super().missing_at_end(file)

    @property
    def _description(self) -> bytes:
        """Return the body of the chunk that describes the samples, empty without one."""
        chunk = self.container.find(b"desc") if self.container else None
        return self.container.body(chunk) if self.container and chunk else b""

    @property
    def _contradiction(self) -> str | None:
        found = self.container
        form = self._description
        if not found or not form or not found.sound or found.sound.missing:
            return None
        held = found.find(b"kuki")
        cookie = found.body(held) if held else b""
        return contradiction(form, cookie, self.packets, found.sound.size - EDITS)

    @cached_property
    def channel_mask(self) -> int | None:
        return mask_of(layout_in(self.container))

    def state_mask(self, mask: int, channels: int) -> bool:
        sound = self.container.sound if self.container else None
        if self.container is None or sound is None:
            return False
        held = self.container.find(b"chan")  # of the source, whose coding may have another order
        start = held.at - CAF.head if held else sound.at - CAF.head
        end = held.at + held.size if held else start
        with self.path.open("r+b") as file:
            replace_bytes(file, start, end, CAF.write(b"chan", bitmap(mask)))
        return True
