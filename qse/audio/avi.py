"""Check the chunks of AVI files: ffmpeg reads on within a chunk whose size is damaged."""

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

from .damage_text import note
from .file_bytes import FileBytes

HEAD = struct.Struct("<4sI")  # identifier, and bytes of the body
ENTRY = struct.Struct("<4sIII")  # identifier, flags, place and bytes of a chunk
FILES = (b"AVI ", b"AVIX")  # the first one, and those behind it in OpenDML files
MOVIE = b"movi"
RECORD = b"rec "
INDEX = b"idx1"
CHUNK = re.compile(rb"\d\d\w\w|ix\d\d|JUNK|junk")  # of a movie
SOUND = re.compile(rb"\d\dwb")
MOST = 1 << 23  # chunks: days of sound


@dataclass
class Chunks:
    """Read the chunks of a file. `places`: what is damaged, with its place in the file."""

    data: FileBytes
    places: list[str] = field(default_factory=list)
    _held: list[tuple[bytes, int]] = field(default_factory=list)  # chunks with sound, their bytes
    _count: int = 0

    def follow(self) -> None:
        """Read the chunks of all parts of the file."""
        at = 0
        while at < len(self.data) and (found := self._head(at, b"RIFF")):
            kind, body, end = found
            if kind not in FILES:
                return
            self._part(body, end)
            at = end

    def _part(self, at: int, end: int) -> None:
        while at + HEAD.size <= end and self._count < MOST:
            self._count += 1
            name, size = HEAD.unpack(self.data[at : at + HEAD.size])
            if not name.isalnum():  # zeros, which would be a chunk every eight bytes
                return
            if (found := self._head(at, b"LIST")) and found[0] == MOVIE:
                self._held = []
                self._movie(found[1], min(found[2], end))
            if name == INDEX:
                self._compare(at + HEAD.size, min(size, end - at - HEAD.size))
            at += HEAD.size + size + size % 2

    def _movie(self, at: int, end: int) -> None:
        while at + HEAD.size <= end and self._count < MOST:
            self._count += 1
            name, size = HEAD.unpack(self.data[at : at + HEAD.size])
            if (found := self._head(at, b"LIST")) and found[0] == RECORD:
                at = found[1]
                continue
            if not CHUNK.fullmatch(name) or at + HEAD.size + size > end:
                note(self.places, f"a chunk is damaged at byte {at}")
                return
            if SOUND.fullmatch(name):
                self._held.append((name, size))
            at += HEAD.size + size + size % 2

    def _compare(self, at: int, size: int) -> None:
        """Compare the chunks with sound with what the index states of them."""
        entries = ENTRY.iter_unpack(self.data[at : at + size - size % ENTRY.size])
        stated = [(name, count) for name, _, _, count in entries if SOUND.fullmatch(name)]
        if stated and not self.places and stated != self._held:
            note(self.places, f"the index at byte {at} states other chunks of sound than there are")

    def _head(self, at: int, name: bytes) -> tuple[bytes, int, int] | None:
        """Return kind, begin and end of the list at `at`, None if there is no such list."""
        head = self.data[at : at + HEAD.size + 4]
        if len(head) < HEAD.size + 4 or head[:4] != name:
            return None
        size = HEAD.unpack(head[: HEAD.size])[1]
        end = at + HEAD.size + size + size % 2
        return head[HEAD.size :], at + len(head), min(end, len(self.data))


def damaged_places(path: Path) -> list[str]:
    """Return in words what is damaged in an AVI file. Raises OSError."""
    with path.open("rb") as file:
        found = Chunks(FileBytes(file))
        found.follow()
    return found.places
