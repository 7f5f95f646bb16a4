"""Find the chunks of WAV (RIFF, RF64, W64), AIFF and CAF files.

A chunk has an identifier, a size and a body. The dialects differ in the lengths and the byte order
of these. What a crashed recorder or a cut copy leaves is read as far as it makes sense: a size
never reaches beyond the file, and what is neither text nor within the file ends the list.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from .formats import MOST_METADATA

MOST = 4096  # chunks that are looked at
SMALL = 4096  # bytes of a body that is kept
LONGEST = (1 << 32) - 1  # bytes that the size of RIFF and AIFF can count
UNKNOWN = (1 << 64) - 1  # size of the samples of a CAF file that goes to its end
W64_RIFF = bytes.fromhex("72696666 2e91cf11a5d628db04c10000")  # how a W64 file begins
W64_TAIL = bytes.fromhex("f3acd3118cd100c04f8edb8a")  # the last 12 of an identifier's 16 bytes
W64_LIST = bytes.fromhex("6c697374 2f91cf11a5d628db04c10000")


@dataclass(frozen=True)
class Dialect:
    """The layout of the chunks of a container.

    name: of the family whose chunk bodies mean the same. audio: identifiers of the chunks that
    describe the samples or reserve room; whoever writes a file makes its own.
    """

    name: str
    audio: tuple[bytes, ...]
    order: Literal["little", "big"]  # of bytes
    header: int = 12  # bytes before the first chunk
    sound: bytes = b"data"  # identifier of the chunk with the samples
    size_at: int | None = 4  # offset of the size of the file, None if there is none
    size_width: int = 4  # bytes of this size
    size_beside: int = 8  # bytes of the file that this size does not count
    id_bytes: int = 4
    size_bytes: int = 4
    padding: int = 2  # bodies end at a multiple of this
    counts_header: bool = False  # whether a size includes the identifier and itself
    is_long: bool = False  # RF64, whose sizes are in a chunk ds64
    ends_with_samples: bool = False  # libsndfile takes what follows the samples for samples

    @property
    def head(self) -> int:
        """Return the bytes before the body of a chunk."""
        return self.id_bytes + self.size_bytes

    def padded(self, size: int) -> int:
        """Return the bytes that a body of `size` bytes takes."""
        return size + -size % self.padding

    def write(self, name: bytes, body: bytes) -> bytes:
        """Return a chunk as it stands in a file."""
        written = name
        if self.id_bytes == 16 and len(name) == 4:
            written = W64_LIST if name == b"LIST" else name + W64_TAIL
        size = len(body) + (self.head if self.counts_header else 0)
        padding = bytes(self.padded(len(body)) - len(body))
        return written + size.to_bytes(self.size_bytes, self.order) + body + padding


@dataclass(frozen=True)
class Chunk:
    """A chunk of a file: its identifier, and offset and size of its body in bytes.

    missing: bytes by which the body, as announced, reaches beyond the end of the file. held: the
    body, of up to SMALL bytes.
    """

    name: bytes
    at: int
    size: int
    missing: int = 0
    held: bytes | None = None


@dataclass(frozen=True)
class Container:
    """The chunks of a file, in their order."""

    path: Path
    dialect: Dialect
    chunks: list[Chunk]

    @property
    def sound(self) -> Chunk | None:
        """Return the chunk with the samples."""
        return self.find(self.dialect.sound)

    def find(self, name: bytes) -> Chunk | None:
        """Return the first chunk with this identifier."""
        return next((chunk for chunk in self.chunks if chunk.name == name), None)

    def body(self, chunk: Chunk) -> bytes:
        """Return the bytes of a chunk, MOST_METADATA at most."""
        if chunk.held is not None:
            return chunk.held
        with self.path.open("rb") as file:
            file.seek(chunk.at)
            return file.read(min(chunk.size, MOST_METADATA))  # memory for all is taken at once


def read_container(path: Path, file: IO[bytes], dialect: Dialect, begin: int = 0) -> Container:
    """Return the chunks of an open file with this layout that begins at `begin`. Raises OSError."""
    return Container(path, dialect, _scan(file, dialect, begin))


class TooLong(Exception):
    """A file with its metadata would be longer than its container can say."""


def write_size(file: IO[bytes], container: Container) -> None:
    """Write the size of an open file (mode r+b) into its header.

    Raises TooLong for a WAV or AIFF file of more than 4 GiB.
    """
    dialect = container.dialect
    size = file.seek(0, 2) - dialect.size_beside
    if dialect.size_at is None:
        return
    if dialect.size_width == 4 and size > LONGEST:
        raise TooLong
    file.seek(dialect.size_at)
    file.write(size.to_bytes(dialect.size_width, dialect.order))


def _scan(file: IO[bytes], dialect: Dialect, begin: int) -> list[Chunk]:
    end = file.seek(0, 2)
    at = begin + dialect.header
    chunks: list[Chunk] = []
    long_data = 0
    while at + dialect.head <= end and len(chunks) < MOST:
        name, size = _read_head(file, dialect, at)
        at += dialect.head
        if dialect.is_long and name == b"ds64":
            long_data = int.from_bytes(file.read(16)[8:], "little")
        if dialect.is_long and name == b"data" and size == LONGEST:
            size = long_data
        if name == b"data" and size in (0, UNKNOWN):  # never finished: the rest are samples
            size = end - at
        if size < 0 or not name:
            break
        there = min(size, end - at)
        if there < size and not is_identifier(name):
            break
        file.seek(at)
        held = file.read(there) if there <= SMALL else None
        chunks.append(Chunk(name, at, there, size - there, held))
        if there < size:  # by more than an offset may hold, perhaps
            break
        at = _next(file, dialect, at, size)
    return chunks


def _read_head(file: IO[bytes], dialect: Dialect, at: int) -> tuple[bytes, int]:
    """Return identifier and size of the chunk whose head is at an offset."""
    file.seek(at)
    head = file.read(dialect.head)
    size = int.from_bytes(head[dialect.id_bytes :], dialect.order)
    if dialect.counts_header:
        size -= dialect.head
    return _name(head[: dialect.id_bytes]), size


def _next(file: IO[bytes], dialect: Dialect, at: int, size: int) -> int:
    """Return where the chunk behind a body begins: after the padding, which some programs omit."""
    end = at + size
    padded = at + dialect.padded(size)
    if padded == end or is_identifier(_read_head(file, dialect, padded)[0]):
        return padded
    return end if is_identifier(_read_head(file, dialect, end)[0]) else padded


def _name(identifier: bytes) -> bytes:
    """Return an identifier of four bytes for one of W64 that has such; nothing for zeros."""
    if identifier == W64_LIST:
        return b"LIST"
    if len(identifier) == 16 and identifier[4:] == W64_TAIL:
        return identifier[:4]
    return identifier if any(identifier) else b""


def is_identifier(name: bytes) -> bool:
    """Return whether programs name chunks so, and not the bytes of samples: by text, or in W64 by a
    GUID of Sonic Foundry."""
    if len(name) == 16:
        return name.endswith(W64_TAIL[-6:])
    return len(name) == 4 and name.isascii() and name.decode().isprintable()
