"""Check the pages of Ogg files: checksums, numbers, and the mark of the last page (RFC 3533).

libsndfile and ffmpeg leave out damaged pages, some of them without an error.
"""

from dataclasses import dataclass, field
from pathlib import Path

from .damage_text import note
from .file_bytes import FileBytes
from .ogg_durations import Durations
from .ogg_page import HEADER, page_at, rate_of, size_at

MOST_CHECKED = 1 << 20
JUMP = 0.1  # seconds
BEGIN = 2  # flags of a page
END = 4


@dataclass
class Stream:
    """One stream of a file, as far as its pages have been read.

    `rate`: samples per second, 0 if unknown; `skipped`: samples at the beginning that are not
    heard; `position`: samples up to the last page; `expected`: number of the next page, which holds
    while the file has no more `losses` than these; `ended`: whether the last page is marked as the
    last; `durations`: of its packets; `later`: samples by which the position is later than these
    last behind the first page, or earlier, if it is negative.
    """

    rate: int = 0
    skipped: int = 0
    position: int = 0
    expected: int | None = None
    losses: int = 0
    ended: bool = False
    durations: Durations = field(default_factory=Durations)
    later: int = 0


@dataclass
class Pages:
    """Hold what was found in a file. `places`: what is damaged, with the time; `early`: whether
    that begins before the first samples, so that libsndfile takes a later beginning."""

    streams: dict[bytes, Stream] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    early: bool = False
    is_joined: bool = False  # whether a stream begins behind pages with sound of another one
    has_pauses: bool = False  # whether positions are not where the packets before them end
    losses: int = 0  # damaged pages, whose streams and numbers are unknown
    _has_begun: bool = False
    _seconds: float = 0.0

    @property
    def has_ends(self) -> bool:
        """Return whether the last page of every stream is marked as such."""
        return all(stream.ended for stream in self.streams.values())

    @property
    def seconds(self) -> float | None:
        """Return the seconds up to the end, None where several streams, or no page that is marked
        as the last one, say it. They begin at the first page that has any, but at 0 if that one may
        be lost."""
        streams = list(self.streams.values())
        if len(streams) != 1 or not streams[0].rate or not streams[0].ended:
            return None
        return self._seconds if self.early else 0.0

    def damaged(self, what: str) -> None:
        """Note a damaged place behind the pages so far."""
        self.early |= not self.places and not any(map(_position, self.streams.values()))
        note(self.places, f"{what} at {self._seconds:.2f} s")

    def follow(self, page: bytes) -> None:
        """Take the next page, which is intact."""
        number = int.from_bytes(page[18:22], "little")
        begins = bool(page[5] & BEGIN)
        stream = self.streams.setdefault(page[14:18], Stream())
        stream.durations = Durations() if begins else stream.durations
        lasts = stream.durations.samples(page)
        self.is_joined |= begins and self._has_begun
        self._has_begun |= not begins
        if begins:
            stream.rate, stream.skipped = rate_of(page[HEADER + page[26] :])
        elif stream.losses == self.losses and stream.expected not in (None, number):
            self.damaged("pages are missing")
        stream.expected = number + 1
        stream.losses = self.losses
        stream.ended = bool(page[5] & END)
        position = int.from_bytes(page[6:14], "little", signed=True)
        if position >= 0:  # a packet ends on this page
            if stream.rate and position < stream.position and not begins:
                self.damaged("positions go back")  # decoders leave out what lies behind
            if lasts is not None and stream.position and not self.places:
                stream.later += position - stream.position - lasts
                is_early = stream.later < 0 and stream.ended  # where the last packet is cut
                self.has_pauses |= abs(stream.later) > JUMP * stream.rate and not is_early
            stream.position = position
        elif min(page[HEADER : HEADER + page[26]], default=255) < 255:
            self.damaged("a position is missing")
        if stream.rate:
            self._seconds = max(0, stream.position - stream.skipped) / stream.rate


def read_pages(path: Path) -> Pages:
    """Read all pages of an Ogg file. Raises OSError."""
    found = Pages()
    at = 0
    checked = 0  # bytes of pages that are none
    with path.open("rb") as file:
        data = FileBytes(file)
        while 0 <= at < len(data):
            page = page_at(data, at)
            if page:
                found.follow(page)
                at += len(page)
                continue
            if data[at : at + 4] == b"OggS":
                found.damaged("a page is damaged")
                found.losses += 1
                checked += size_at(data, at)
                if checked > MOST_CHECKED + len(data):  # more than pages that are damaged can have
                    break
            elif found.streams and any(data[at : at + HEADER]):
                found.damaged("bytes belong to no page")
            at = data.find(b"OggS", at + 1)
    return found


def _position(stream: Stream) -> int:
    return stream.position
