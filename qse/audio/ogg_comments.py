"""Copy the comment header of Ogg Vorbis and Ogg Opus files byte by byte (RFC 3533, RFC 7845).

A comment header of another length changes the number of pages before the samples, so that all pages
behind them get new numbers and checksums.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from . import vorbis_comments
from .file_edit import replace_bytes
from .formats import MOST_METADATA
from .ogg_page import Packets, signed
from .vorbis_blocks import Blocks
from .vorbis_comments import Comments

# how the comments begin; header packets
HEADERS = {
    b"\x01vorbis": (b"\x03vorbis", 3),
    b"OpusHead": (b"OpusTags", 2),
}
FRAMING = b"\x01"  # behind the comments of Vorbis
CONTINUED = 1  # a page begins with the rest of a packet
NO_POSITION = b"\xff" * 8  # of a page on which no packet ends


@dataclass(frozen=True)
class Headers:
    """The header packets of the first stream of a file; `start` and `end`: offsets of the pages
    behind the first."""

    packets: list[bytes]
    serial: bytes
    start: int
    end: int
    pages: int

    @property
    def mark(self) -> bytes:
        """Return how the packet of the comments begins."""
        return _kind(self.packets[0])[0]

    @property
    def comments(self) -> Comments:
        """Return the comments. Raises ValueError if they are damaged."""
        return vorbis_comments.parse(self.packets[1][len(self.mark) :])


def read_headers(path: Path) -> Headers:
    """Read the header packets of an Ogg file.

    Raises ValueError if it is no Vorbis or Opus file, and OSError.
    """
    gathered = Packets()
    packets: list[bytes] = []
    serial = b""
    start = 0
    pages = 0
    size = 0
    with path.open("rb") as file:
        for head, body in _pages(file):
            serial = serial or head[14:18]
            if head[14:18] != serial:
                continue
            pages += 1
            size += len(body)
            packets += gathered.ended(head + body)
            start = start or file.tell()
            _, wanted = _kind(packets[0] if packets else bytes(gathered.rest))
            if len(packets) >= wanted and not gathered.rest:
                return Headers(packets[:wanted], serial, start, file.tell(), pages)
            if size > MOST_METADATA:
                break
    raise ValueError("the headers have no end")


def samples_before_begin(path: Path, headers: Headers) -> int:
    """Return how many samples of a Vorbis file lie before position 0, as in a file that was cut
    without being coded anew. Raises OSError."""
    is_vorbis = headers.mark == b"\x03vorbis"
    blocks = Blocks.of(headers.packets[0], headers.packets[-1]) if is_vorbis else None
    if blocks is None:
        return 0
    gathered = Packets()
    packets: list[bytes] = []
    before = None
    with path.open("rb") as file:
        file.seek(headers.end)
        for head, body in _pages(file):
            if head[14:18] != headers.serial:
                continue
            if before is not None:  # of a page that is not the last, whose surplus is at the end
                return before
            packets += gathered.ended(head + body)
            position = int.from_bytes(head[6:14], "little", signed=True)
            if position >= 0:
                before = max(0, blocks.samples(packets) - position)
            elif file.tell() - headers.end > MOST_METADATA:
                break
    return 0


def write_entries(part: Path, entries: list[bytes]) -> None:
    """Replace the comments of the Ogg file `part`; the vendor string stays that of the program
    that wrote it. Raises as `read_headers` does."""
    own = read_headers(part)
    packed = own.mark + Comments(own.comments.vendor, entries).packed()
    if own.mark == b"\x03vorbis":
        packed += FRAMING
    pages = _paged([packed, *own.packets[2:]], own.serial)
    with part.open("r+b") as file:
        replace_bytes(file, own.start, own.end, b"".join(pages))
        file.seek(own.start + sum(map(len, pages)))
        _renumber(file, own.serial, 1 + len(pages) - own.pages)


def _kind(first: bytes) -> tuple[bytes, int]:
    for begin, kind in HEADERS.items():
        if first.startswith(begin):
            return kind
    raise ValueError("neither Vorbis nor Opus")


def _pages(file: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield header and body of each page from where the file stands."""
    while len(head := file.read(27)) == 27 and head[:4] == b"OggS":
        head += file.read(head[26])
        yield head, file.read(sum(head[27:]))


def _paged(packets: list[bytes], serial: bytes) -> list[bytes]:
    """Return the pages, from number 1, that hold header packets."""
    body = b"".join(packets)
    lengths: list[int] = []
    for packet in packets:
        lengths += [255] * (len(packet) // 255) + [len(packet) % 255]
    pages: list[bytes] = []
    at = 0
    continued = 0
    for first in range(0, len(lengths), 255):
        piece = lengths[first : first + 255]
        ends = min(piece) < 255
        position = bytes(8) if ends else NO_POSITION
        head = (
            b"OggS\0"
            + bytes([continued])
            + position
            + serial
            + (len(pages) + 1).to_bytes(4, "little")
        )
        head += bytes(4) + bytes([len(piece), *piece])
        pages.append(signed(head + body[at : at + sum(piece)]))
        at += sum(piece)
        continued = CONTINUED if piece[-1] == 255 else 0
    return pages


def _renumber(file: IO[bytes], serial: bytes, shift: int) -> None:
    """Add `shift` to the numbers of the pages from where the file stands to its end."""
    if not shift:
        return
    at = file.tell()
    for head, body in _pages(file):
        after = file.tell()
        if head[14:18] == serial:
            number = int.from_bytes(head[18:22], "little") + shift
            file.seek(at)
            file.write(
                signed(head[:18] + number.to_bytes(4, "little") + head[22:] + body)[: len(head)]
            )
        at = after
        file.seek(at)
