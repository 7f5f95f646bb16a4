"""AVI files: ffmpeg reads on within a chunk whose size is damaged, so the chunks are followed."""

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .bytes_behind import bytes_behind
from .damage_text import named, note
from .file_bytes import FileBytes
from .inspection import FEW, Inspection
from .probe import Track
from .stated_size import is_open

HEAD = struct.Struct("<4sI")  # identifier, and bytes of the body
ENTRY = struct.Struct("<4sIII")  # identifier, flags, place and bytes of a chunk
FILES = (b"AVI ", b"AVIX")  # the first one, and those behind it in OpenDML files
HEADERS = b"hdrl"
STREAM = b"strl"
AUDIO = b"auds"
MOVIE = b"movi"
RECORD = b"rec "
INDEX = b"idx1"
CHUNK = re.compile(rb"\d\d\w\w|ix\d\d|JUNK|junk")  # of a movie
SOUND = re.compile(rb"\d\dwb")
MOST = 1 << 23  # chunks: days of sound


class Avi(Inspection):
    """A file of this kind, with or without pictures."""

    needs_ffmpeg = True
    states_all = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "AVI" if head[:4] == b"RIFF" and head[8:12] == b"AVI " else None

    @property
    def ends_early(self) -> bool:
        with self.path.open("rb") as file:
            stated = int.from_bytes(file.read(HEAD.size)[4:], "little")
        return self.state.st_size - HEAD.size < stated and not is_open(stated)

    def skipped_damage(self, sample_rate: int) -> str | None:
        return named(damaged_places(self.path))

    def stated_seconds(self, track: Track) -> float:
        return track.stated


class List(NamedTuple):
    """A chunk that holds others: its kind, and where these begin and end."""

    kind: bytes
    body: int
    end: int


@dataclass
class Chunks:
    """Read the chunks of a file. `places`: what is damaged, with its place in the file."""

    data: FileBytes
    places: list[str] = field(default_factory=list)
    _held: list[tuple[bytes, int]] = field(default_factory=list)  # chunks with sound, their bytes
    _streams: list[bytes] = field(default_factory=list)  # kind of each, by its header
    _count: int = 0

    def follow(self) -> int:
        """Read the chunks of all parts of the file; return where the last one ends."""
        at = 0
        while at < len(self.data) and (found := self._list(at, b"RIFF")):
            if found.kind not in FILES:
                break
            if found.end < found.body:  # a size of 0, of a recording that was never finished
                return len(self.data)
            self._part(found.body, found.end)
            at = found.end
        return at

    def _part(self, at: int, end: int) -> None:
        while at + HEAD.size <= end and self._count < MOST:
            self._count += 1
            name, size = HEAD.unpack(self.data[at : at + HEAD.size])
            if not name.isalnum():  # zeros, which would be a chunk every eight bytes
                return
            found = self._list(at, b"LIST")
            if found and found.kind == HEADERS:
                self._headers(found.body, min(found.end, end))
            if found and found.kind == MOVIE:
                self._held = []
                self._movie(found.body, min(found.end, end))
            if name == INDEX:
                self._compare(at + HEAD.size, min(size, end - at - HEAD.size))
            at += HEAD.size + size + size % 2

    def _headers(self, at: int, end: int) -> None:
        """Read the headers of the streams; ffmpeg leaves out a stream with a damaged one."""
        while at + HEAD.size <= end:
            found = self._list(at, b"LIST")
            size = HEAD.unpack(self.data[at : at + HEAD.size])[1]
            if found and found.kind == STREAM:
                head = self.data[found.body : found.body + HEAD.size + 4]
                form = found.body + HEAD.size + int.from_bytes(head[4:8], "little")
                name, bytes_of_form = HEAD.unpack(self.data[form : form + HEAD.size])
                is_whole = (head[:4], name) == (
                    b"strh",
                    b"strf",
                ) and form + HEAD.size + bytes_of_form <= found.end
                self._streams.append(head[HEAD.size :] if is_whole else b"")
            at += HEAD.size + size + size % 2

    def _movie(self, at: int, end: int) -> None:
        while at + HEAD.size <= end and self._count < MOST:
            self._count += 1
            name, size = HEAD.unpack(self.data[at : at + HEAD.size])
            if (found := self._list(at, b"LIST")) and found.kind == RECORD:
                at = found.body
                continue
            if not CHUNK.fullmatch(name) or at + HEAD.size + size > end:
                note(self.places, f"a chunk is damaged at byte {at}")
                return
            if SOUND.fullmatch(name):
                if int(name[:2]) >= len(self._streams) or self._streams[int(name[:2])] != AUDIO:
                    note(self.places, f"the chunk at byte {at} belongs to no stream of sound")
                    return
                self._held.append((name, size))
            at += HEAD.size + size + size % 2

    def _compare(self, at: int, size: int) -> None:
        """Compare the chunks with sound with what the index states of them."""
        entries = ENTRY.iter_unpack(self.data[at : at + size - size % ENTRY.size])
        stated = [(name, count) for name, _, _, count in entries if SOUND.fullmatch(name)]
        if stated and not self.places and stated != self._held:
            note(self.places, f"the index at byte {at} states other chunks of sound than there are")

    def _list(self, at: int, name: bytes) -> List | None:
        """Return the list at `at`, None if there is none of this name."""
        head = self.data[at : at + HEAD.size + 4]
        if len(head) < HEAD.size + 4 or head[:4] != name:
            return None
        size = HEAD.unpack(head[: HEAD.size])[1]
        end = at + HEAD.size + size + size % 2
        return List(head[HEAD.size :], at + len(head), min(end, len(self.data)))


def damaged_places(path: Path) -> list[str]:
    """Return in words what is damaged in an AVI file. Raises OSError."""
    with path.open("rb") as file:
        found = Chunks(FileBytes(file))
        behind = bytes_behind(file, found.follow())
        if behind > FEW:
            note(found.places, f"{behind} bytes behind its last part are not read")
    return found.places
