"""Files that only ffmpeg reads, and nothing writes."""

import struct
from functools import cached_property
from pathlib import Path
from typing import IO, Self

from .asf_names import repeated_tags
from .id3 import TOO_LARGE, few_tags, repeated_items
from .inspection import FEW, Inspection
from .probe import Track
from .wav import WMA_FRAME

# words of 16 and of 14 bits, and of an extension alone
DTS = (
    *(b"\x7f\xfe\x80\x01", b"\xfe\x7f\x01\x80", b"\x1f\xff\xe8\x00", b"\xff\x1f\x00\xe8"),
    b"\x64\x58\x20\x25",
)
MAGIC = {  # how files begin -> kind
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "WMA",
    b"#!AMR": "AMR",
    b"\x0b\x77": "AC-3",
    b"wvpk": "WavPack",
    b"MAC ": "APE",
    b"tBaK": "TAK",
    b"DSD ": "DSF",
    b".SoX": "SoX",
    b"XoS.": "SoX",
    b"\x77\x0b": "AC-3",
    **dict.fromkeys(DTS, "DTS"),
    b"\x06\x0e\x2b\x34": "MXF",
    b"\0\0\1\xba": "MPEG-PS",
}
STATED = ("MXF", "WavPack", "APE", "TAK", "DSF")  # kinds whose headers have a length
WITH_APE = ("WavPack", "APE")  # kinds that have APEv2 tags
LOW_RATE = 8000  # Hz, at which the two frames that the decoder leaves out first
WMA_LEAD = 0.03  # are so many seconds longer than what passes for no gap
PACKET = 188  # bytes
BEGINNING = 1 << 14  # bytes in which a WMA file states its properties
PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
# size of the header, samples, rate, channels
SOX = {b".SoX": "<4xIQdI", b"XoS.": ">4xIQdI"}
SYNC = b"\x47"  # the first byte of a packet
MARKS = 3  # packets that are looked at


class Foreign(Inspection):
    """A file of such a kind."""

    needs_ffmpeg = True

    @classmethod
    def of(cls, path: Path, kind: str | None, file: IO[bytes], head: bytes) -> Self:
        found = super().of(path, kind, file, head)
        found.states_all = kind in (*STATED, "SoX")
        found.closes_jumps = kind in ("MPEG-TS", "MPEG-PS")
        return found

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        for begin, kind in MAGIC.items():
            if head.startswith(begin):
                return kind
        if _is_transport_stream(head):
            return "MPEG-TS"
        if len(head) > 1 and head[0] == 0x56 and head[1] & 0xE0 == 0xE0:
            return "LATM"
        return None

    @property
    def ends_early(self) -> bool:
        return self._of_wma > self.state.st_size

    def skipped_damage(self, sample_rate: int) -> str | None:
        behind = self.state.st_size - self._of_wma if self._of_wma else 0
        return f"{behind} bytes behind its end are not read" if behind > FEW else None

    def names_beside_tags(self, names: list[str]) -> list[str]:
        return [TOO_LARGE] if self.kind in WITH_APE and few_tags(self.path) is None else []

    def repeated(self) -> list[str]:
        if self.kind == "WMA":
            return repeated_tags(self.path)
        if self.kind in WITH_APE:
            return repeated_items(few_tags(self.path))
        return []

    @cached_property
    def _of_wma(self) -> int:
        """Return how many bytes a finished WMA file says that it has, 0 for others."""
        if self.kind != "WMA":
            return 0
        with self.path.open("rb") as file:
            head = file.read(BEGINNING)
        at = head.find(PROPERTIES)
        is_live = at < 0 or head[at + 88 : at + 89] != b"\2"  # 2: times can be looked up
        return 0 if is_live else int.from_bytes(head[at + 40 : at + 48], "little")

    def lead(self, sample_rate: int) -> float:
        return WMA_LEAD if self.kind == "WMA" and sample_rate <= LOW_RATE else 0.0

    def stated_seconds(self, track: Track) -> float:
        if self.kind in STATED:
            return track.lasts
        if self.kind == "WMA":
            return self.media.seconds - WMA_FRAME if self.media else 0.0
        return self._of_sox if self.kind == "SoX" else 0.0

    @cached_property
    def _of_sox(self) -> float:
        with self.path.open("rb") as file:
            head = file.read(struct.calcsize("<4xIQdI"))
        try:
            _, samples, rate, channels = struct.unpack(SOX[head[:4]], head)
        except (struct.error, KeyError):
            return 0.0
        return samples / channels / rate if channels and rate > 0 else 0.0


def _is_transport_stream(head: bytes) -> bool:
    """Return whether packets begin at their usual distance, behind a time of four bytes in m2ts."""
    for first, size in ((0, PACKET), (4, PACKET + 4)):
        if head[first::size][:MARKS] == SYNC * MARKS:
            return True
    return False
