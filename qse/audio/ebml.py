"""Check the elements of Matroska and WebM files (RFC 8794, RFC 9559): sizes, places, checksums.

ffmpeg leaves out what it cannot read, often without an error.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .bytes_behind import bytes_behind
from .damage_text import note
from .file_bytes import FileBytes

HEADER = 0x1A45DFA3
SEGMENT = 0x18538067
CLUSTER = 0x1F43B675
TRACKS = 0x1654AE6B
INFO = 0x1549A966
CHECKSUM = 0xBF
EVERYWHERE = (0xEC, CHECKSUM)  # Void is the other
# seek head, cues, attachments, chapters, tags
IN_SEGMENT = (
    *(INFO, TRACKS, CLUSTER, 0x114D9B74, 0x1C53BB6B, 0x1941A469, 0x1043A770, 0x1254C367),
    *EVERYWHERE,
)
TIMESTAMP = 0xE7
BLOCKS = (0xA3, 0xA1)  # simple, and in a group
GROUP = 0xA0
IN_CLUSTER = (TIMESTAMP, 0x5854, 0xA7, 0xAB, BLOCKS[0], GROUP, *EVERYWHERE)
IN_GROUP = (
    *(BLOCKS[1], 0xA2, 0x75A1, 0x9B, 0xFA, 0xFB, 0xFD, 0xA4, 0x75A2, 0x8E, 0xC8),
    *EVERYWHERE,
)
WHOLE_NUMBERS = (TIMESTAMP, 0xA7, 0xAB, 0x9B, 0xFA, 0xFB, 0xFD)  # of eight bytes at most
TRACK = 0xAE
NUMBER = 0xD7
KIND = 0x83  # of a track
CODING = 0x86  # whose name begins by the kind
KINDS = {1: (b"V_",), 2: (b"A_",), 17: (b"S_", b"D_WEBVTT"), 18: (b"B_",), 33: (b"D_",)}
SCALE = 0x2AD7B1  # nanoseconds of a unit of time
MOST = 1 << 23  # elements: days of sound
EARLY = 10**9  # nanoseconds before the beginning, more than the delay of any encoder
STEP = 1 << 20  # bytes of which a checksum is computed at a time


@dataclass(frozen=True)
class Element:
    """An element: its number, where it and its content begin, and where that ends; None where that
    is not stated."""

    number: int
    at: int
    body: int
    end: int | None


@dataclass
class Elements:
    """Read the elements of a file. `places`: what is damaged, with the time; `tracks`: numbers of
    its tracks."""

    data: FileBytes
    places: list[str] = field(default_factory=list)
    tracks: set[int] = field(default_factory=set)
    _count: int = 0
    _scale: int = 1_000_000
    _begin: int = 0  # of the cluster, in units of time
    _time: int = 0

    def damaged(self, what: str) -> None:
        """Note a damaged place at the time of the last block."""
        note(self.places, f"{what} at {self._time * self._scale / 1e9:.2f} s")

    def follow(self) -> int:
        """Read all elements; return where the last segment ends."""
        at = 0
        end = len(self.data)
        while at < end and self._count < MOST:
            found = element_at(self.data, at)
            if found is None or found.number not in (HEADER, SEGMENT, *EVERYWHERE):
                return at
            if found.number == HEADER and at:
                self.damaged("another file begins")
            at = end if found.end is None else found.end
            if found.number == SEGMENT:
                self._segment(found.body, min(at, end))
        if at > end or self._count >= MOST:
            self.damaged("its end is missing" if at > end else "too many elements")
        return at

    def _segment(self, at: int, end: int) -> None:
        while at < end and self._count < MOST:
            found = self._next(at, end, IN_SEGMENT)
            if found is None:
                at = self.data.find(CLUSTER.to_bytes(4, "big"), at + 1, end)
                if at < 0:
                    return
                continue
            if found.number == CLUSTER:
                at = self._cluster(found, end)
                continue
            at = end if found.end is None else found.end
            if found.number == TRACKS:
                self._tracks(found.body, at)
            if found.number == INFO:
                held = self._children(found.body, at)
                self._scale = _number(self._begin_of(held.get(SCALE))) or self._scale
            self._check(found.body, at)

    def _next(self, at: int, end: int, known: tuple[int, ...]) -> Element | None:
        """Return the element at `at`, which must be one of `known` and end at `end` at last; None
        where none does, which is noted."""
        self._count += 1
        found = element_at(self.data, at)
        if found is None or found.number not in known:
            self.damaged("bytes are no element")
            return None
        if found.number in WHOLE_NUMBERS and (found.end is None or found.end - found.body > 8):
            self.damaged("an element is damaged")
            return None
        if found.end is not None and found.end > end:
            is_cut = end == len(self.data)
            self.damaged("its end is missing" if is_cut else "an element is damaged")
            return None
        return found

    def _cluster(self, cluster: Element, limit: int) -> int:
        """Check a cluster and its blocks; return where it ends."""
        at = cluster.body
        end = limit if cluster.end is None else cluster.end
        while at < end and self._count < MOST:
            known = IN_CLUSTER if cluster.end else (*IN_CLUSTER, *IN_SEGMENT)
            found = self._next(at, end, known)
            if found is None:  # whether the next cluster begins at `end` is seen there
                return at + 1 if cluster.end is None else end
            if found.number not in IN_CLUSTER:
                return at
            at = end if found.end is None else found.end
            if found.number == TIMESTAMP:
                self._begin = _number(self.data[found.body : at])
                self._time = self._begin
            elif found.number == GROUP:
                self._group(found.body, at)
            elif found.number in BLOCKS:
                self._block(found.body)
        if cluster.end is not None:
            self._check(cluster.body, end)
        return end

    def _group(self, at: int, end: int) -> None:
        has_block = False
        while at < end and (found := self._next(at, end, IN_GROUP)):
            if found.number in BLOCKS:
                self._block(found.body)
                has_block = True
            at = end if found.end is None else found.end
        if at == end and not has_block:
            self.damaged("a group holds no block")

    def _block(self, at: int) -> None:
        head = self.data[at : at + 10]
        track = _size(head)
        if track is None or (self.tracks and track[0] not in self.tracks):
            self.damaged("a block belongs to no track")
            return
        since = int.from_bytes(head[track[1] : track[1] + 2], "big", signed=True)
        self._time = max(0, self._begin + since)
        if (self._begin + since) * self._scale < -EARLY:
            self.damaged("a block lies before the beginning")

    def _tracks(self, at: int, end: int) -> None:
        """Read the tracks; ffmpeg leaves out one that it cannot read, or of another kind."""
        for entry in self._among(at, end):
            if entry.number in EVERYWHERE:
                continue
            held = self._children(entry.body, entry.end or end)
            self.tracks.add(_number(self._begin_of(held.get(NUMBER))))
            coding = KINDS.get(_number(self._begin_of(held.get(KIND))))
            is_known = coding is not None and self._begin_of(held.get(CODING)).startswith(coding)
            is_filled = max((child.end or 0 for child in held.values()), default=0) == entry.end
            if entry.number != TRACK or not is_known or not is_filled:
                self.damaged("a track is damaged")

    def _children(self, at: int, end: int) -> dict[int, Element]:
        """Return the elements in another one by their numbers, the last of each."""
        return {child.number: child for child in self._among(at, end)}

    def _begin_of(self, found: Element | None) -> bytes:
        """Return the first bytes of the content of an element, none without one."""
        if found is None or found.end is None:
            return b""
        return self.data[found.body : min(found.end, found.body + 8)]

    def _among(self, at: int, end: int) -> Iterator[Element]:
        while at < end and self._count < MOST:
            self._count += 1
            found = element_at(self.data, at)
            if found is None or found.end is None or found.end > end:
                return
            yield found
            at = found.end

    def _check(self, at: int, end: int) -> None:
        """Compare the checksum with which the content of an element begins, if it does."""
        found = element_at(self.data, at)
        if found is not None and found.number == CHECKSUM and found.end == found.body + 4:
            stated = int.from_bytes(self.data[found.body : found.end], "little")
            value = 0
            for start in range(found.end, end, STEP):
                value = zlib.crc32(self.data[start : min(end, start + STEP)], value)
            if value != stated:
                self.damaged("a checksum differs")


def damaged_places(path: Path) -> list[str]:
    """Return in words what is damaged in a Matroska file. Raises OSError."""
    with path.open("rb") as file:
        found = Elements(FileBytes(file))
        end = found.follow()
        if not found.places and bytes_behind(file, end):
            found.damaged("bytes behind its end are not read")
    return found.places


def element_at(data: FileBytes, at: int) -> Element | None:
    """Return the element at `at`, None where there is none."""
    head = data[at : at + 12]  # of the number four at most, of the size eight
    length = 9 - head[0].bit_length() if head else 9  # 1 to 4
    if length > 4:
        return None
    size = _size(head[length:])
    if size is None:
        return None
    count, taken = size
    body = at + length + taken
    is_unknown = count == (1 << 7 * taken) - 1
    return Element(_number(head[:length]), at, body, None if is_unknown else body + count)


def _size(head: bytes) -> tuple[int, int] | None:
    """Return the number that `head` begins with and how many bytes it takes, None without one."""
    length = 9 - head[0].bit_length() if head else 9
    if length > min(8, len(head)):
        return None
    return _number(head[:length]) & (1 << 7 * length) - 1, length


def _number(data: bytes) -> int:
    return int.from_bytes(data[:8], "big")
