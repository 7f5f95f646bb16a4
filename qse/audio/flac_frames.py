"""Find sound in FLAC files behind the samples that their header counts (RFC 9639, section 9.1)."""

from functools import cache
from pathlib import Path

from .file_bytes import FileBytes

FURTHER = b"fLaC\0\0\0\x22"  # how another file begins
MOST_TRIES = 64  # places that look like the head of a frame
MOST_CHECKED = 1 << 22  # bytes: more than a frame of 8 channels has
LONGEST_HEAD = 16  # bytes
RATE_BYTES = {12: 1, 13: 2, 14: 2}  # of the sample rate behind the number, by its code
SIZE_BYTES = {6: 1, 7: 2}  # of the samples of a frame, less one
SIZES = {1: 192, **{n: 144 << n for n in range(2, 6)}, **{n: 1 << n for n in range(8, 16)}}


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
        found = _samples_of(last[at : at + LONGEST_HEAD], block)
        if found is None:
            continue
        first, count = found
        if first < total and first + count <= total <= first + (1 << 16):  # the usual end
            return False
        checked += len(last) - at
        if checked > MOST_CHECKED:
            return False
        if _crc(last[at:], 0x8005, 16) == 0:
            return first + count > total
    return False


def _samples_of(head: bytes, block: int) -> tuple[int, int] | None:
    """Return the number of the first sample of the frame with this head, and how many samples it
    holds; None if it is none."""
    if len(head) < 5:
        return None
    size = head[2] >> 4
    rate = head[2] & 15
    if not size or rate == 15 or head[3] & 1:
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
    return (number if head[1] & 1 else number * block), count


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
