"""Read the heads of the frames of FLAC files (RFC 9639, section 9.1): whether frames are missing or
out of order, and whether there is sound behind the samples that the header of the file counts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .damage_text import note
from .file_bytes import FileBytes

FURTHER = b"fLaC\0\0\0\x22"  # how another file begins
MOST_TRIES = 64  # places that look like the head of a frame
MOST_CHECKED = 1 << 22  # bytes: more than a frame of 8 channels has
MOST_HEADS = 1 << 23  # days of sound
BEGIN = re.compile(rb"\xff[\xf8\xf9][\x10-\xff][\0-\xaf]", re.DOTALL)  # of a head
LONGEST_HEAD = 16  # bytes
LONGEST_BEGIN = 4
RATE_BYTES = {12: 1, 13: 2, 14: 2}  # of the sample rate behind the number, by its code
SIZE_BYTES = {6: 1, 7: 2}  # of the samples of a frame, less one
SIZES = {1: 192, **{n: 144 << n for n in range(2, 6)}, **{n: 1 << n for n in range(8, 16)}}


@dataclass(frozen=True)
class Head:
    """The head of a frame: its number, which is that of its first sample if `counts_samples`; and
    its samples."""

    number: int
    samples: int
    counts_samples: bool


@dataclass
class Frames:
    """Compare the numbers of frames, which libFLAC does not: it puts in silence for those that are
    missing, and plays those that are there twice.

    start, end: offsets of the first frame and of the tags at the end. is_fixed: whether all frames
    but the last have equally many samples. rate: in Hz. from_zero: whether the first number has to
    be 0. `places`: what is damaged, with the time.
    """

    data: FileBytes
    start: int
    end: int
    is_fixed: bool
    rate: int
    from_zero: bool = False
    places: list[str] = field(default_factory=list)
    _checked: int = 0  # bytes of which a checksum was computed

    def follow(self) -> None:
        """Read all heads. Raises OSError."""
        last: tuple[int, Head] | None = None  # of the frames that follow each other
        other: Head | None = None  # behind it, with another number: a frame, or bytes within one
        position = 0  # samples up to the end of the last frame
        for at, head in self._heads():
            if last is None and self.from_zero and head.number:
                missing = head.number * (1 if head.counts_samples else head.samples)
                note(self.places, f"{missing / self.rate:.2f} s are missing at 0.00 s")
                position = missing
            if last and not self._is_next(last[1], head):
                alone = not (other and self._is_next(other, head))
                if alone and not self._is_whole(last[0], at):
                    other = head
                    continue
                first = head if alone or other is None else other
                position += self._jump(last[1], first, position)
                position += first.samples if first is not head else 0
            last = at, head
            other = None
            position += head.samples

    def _heads(self) -> Iterator[tuple[int, Head]]:
        at = self.start
        for _ in range(MOST_HEADS):
            at = self.data.search(BEGIN, at, LONGEST_BEGIN)
            if not 0 <= at < self.end:
                return
            if head := head_of(self.data[at : min(at + LONGEST_HEAD, self.end)]):
                yield at, head
            at += 1

    def _is_next(self, last: Head, head: Head) -> bool:
        step = head.number - last.number
        if last.counts_samples or (not self.is_fixed and step != 1):  # old files do not say which
            return step == last.samples
        return step == 1

    def _is_whole(self, start: int, end: int) -> bool:
        """Return whether the bytes between two offsets are one frame, by its checksum."""
        self._checked += end - start
        most = MOST_CHECKED + len(self.data) // 256
        return self._checked < most and _crc(self.data[start:end], 0x8005, 16) == 0

    def _jump(self, last: Head, head: Head, position: int) -> int:
        """Note that `head` is not the one behind `last`; return how many samples are missing."""
        unit = 1 if last.counts_samples else last.samples
        missing = (head.number - last.number) * unit - last.samples
        seconds = f"{position / self.rate:.2f} s"
        if missing > 0:
            note(self.places, f"{missing / self.rate:.2f} s are missing at {seconds}")
        else:
            note(self.places, f"frames are repeated or out of order at {seconds}")
        return max(0, missing)


def frame_places(
    path: Path, start: int, end: int, is_fixed: bool, rate: int, from_zero: bool = False
) -> list[str]:
    """Return in words where frames of a FLAC file are missing or out of order; see Frames. Raises
    OSError."""
    with path.open("rb") as file:
        found = Frames(FileBytes(file), start, end, is_fixed, max(1, rate), from_zero)
        found.follow()
    return found.places


def samples_behind(path: Path, start: int, end: int, block: int, total: int) -> bool:
    """Return whether a file that states `total` samples holds more: in a further file behind it, or
    in a last frame that ends behind them.

    start: offset of the first frame. end: offset of the tags at the end. block: samples of a frame
    where all but the last have as many, else 0. Raises OSError.
    """
    with path.open("rb") as file:
        data = FileBytes(file)
        if data.find(FURTHER, start, end) >= 0:
            return True
        last = data[max(start, end - MOST_CHECKED) : end]
    at = len(last)
    checked = 0
    for _ in range(MOST_TRIES):
        at = max(last.rfind(b"\xff\xf8", 0, at), last.rfind(b"\xff\xf9", 0, at))
        if at < 0:
            return False
        found = head_of(last[at : at + LONGEST_HEAD])
        if found is None:
            continue
        first = found.number if found.counts_samples else found.number * block
        count = found.samples
        if first < total and first + count <= total <= first + (1 << 16):  # the usual end
            return False
        checked += len(last) - at
        if checked > MOST_CHECKED:
            return False
        if _crc(last[at:], 0x8005, 16) == 0:
            return first + count > total
    return False


def head_of(head: bytes) -> Head | None:
    """Return the head with which these bytes begin, None if they begin with none."""
    if len(head) < 5 or not BEGIN.match(head):
        return None
    size = head[2] >> 4
    rate = head[2] & 15
    if rate == 15 or head[3] & 1:
        return None
    first = head[4]
    more = 0 if first < 0x80 else 8 - (first ^ 0xFF).bit_length() - 1
    if more < 0 or (more == 0 and first >= 0x80) or more > 6:
        return None
    number = first if not more else first & ((1 << 6 - more) - 1)
    for byte in head[5 : 5 + more]:
        if byte & 0xC0 != 0x80:
            return None
        number = number << 6 | byte & 0x3F
    wide = SIZE_BYTES.get(size, 0)
    end = 5 + more + wide + RATE_BYTES.get(rate, 0) + 1
    if len(head) < end or _crc(head[:end], 0x07, 8):
        return None
    stated = head[5 + more : 5 + more + wide]
    count = int.from_bytes(stated, "big") + 1 if wide else SIZES[size]
    return Head(number, count, bool(head[1] & 1))


def _crc(data: bytes, polynomial: int, bits: int) -> int:
    """Return the checksum of `data`, the highest bit first: 0 where it ends with its own."""
    top = 1 << bits
    table = _table(polynomial, bits)
    found = 0
    for byte in data:
        found = (found << 8 & top - 1) ^ table[found >> bits - 8 ^ byte]
    return found


@cache
def _table(polynomial: int, bits: int) -> list[int]:
    """Return the checksum of each byte."""
    top = 1 << bits
    table = []
    for byte in range(256):
        rest = byte << bits - 8
        for _ in range(8):
            rest <<= 1
            if rest & top:
                rest ^= polynomial | top
        table.append(rest)
    return table
