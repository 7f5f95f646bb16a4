"""Read one page of an Ogg file, and compute its checksum (RFC 3533, section 6)."""

import zlib

from .file_bytes import FileBytes
from .formats import MOST_METADATA

MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
HEADER = 27  # bytes of a page before the lengths of its segments
OPUS_RATE = 48000  # Hz, of all positions


def checksum(page: bytes) -> int:
    """Return the checksum of a page whose own field for it is zero: CRC-32, the highest bit first,
    beginning with 0.

    zlib computes the same polynomial, the lowest bit first, beginning and ending with all ones.
    """
    mirrored = zlib.crc32(page.translate(MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(MIRRORED), "big")


def signed(page: bytes) -> bytes:
    """Return a page with its checksum."""
    blank = page[:22] + bytes(4) + page[26:]
    return page[:22] + checksum(blank).to_bytes(4, "little") + page[26:]


def page_at(data: FileBytes, at: int) -> bytes | None:
    """Return the page that begins at `at`, None if none does, or it is damaged or incomplete."""
    size = size_at(data, at)
    page = data[at : at + size]
    return page if size and len(page) == size and signed(page) == page else None


def size_at(data: FileBytes, at: int) -> int:
    """Return the bytes of the page that begins at `at`, 0 if none does."""
    head = data[at : at + HEADER]
    if len(head) < HEADER or head[:4] != b"OggS":
        return 0
    return HEADER + head[26] + sum(data[at + HEADER : at + HEADER + head[26]])


def rate_of(packet: bytes) -> tuple[int, int]:
    """Return the samples per second of the positions in a stream, and how many are skipped at its
    beginning, by its first packet."""
    if packet.startswith(b"\x01vorbis"):
        return int.from_bytes(packet[12:16], "little"), 0
    if packet.startswith(b"OpusHead"):
        return OPUS_RATE, int.from_bytes(packet[10:12], "little")
    return 0, 0


class Packets:
    """Gather the packets of a stream, page by page; `rest`: what is there of the one that goes
    on."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def ended(self, page: bytes, most: int = MOST_METADATA) -> list[bytes]:
        """Return the packets that end on the next page, `most` bytes of each."""
        at = HEADER + page[26]
        found = []
        for length in page[HEADER:at]:
            self.rest += page[at : at + length][: max(0, most - len(self.rest))]
            at += length
            if length < 255:
                found.append(bytes(self.rest))
                self.rest = bytearray()
        return found
