"""Read the atoms of MP4 files, and copy the tags of m4a and m4b files byte by byte: the items of
the atom ilst, with those that ffmpeg does not read.

An atom is a size of four bytes, a name of four bytes, and a body, which may hold atoms.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from .file_edit import replace_bytes
from .loudness import is_loudness

WAY = (b"moov", b"udta", b"meta", b"ilst")  # from the whole file to the items
FREE = b"----"  # an item whose name is a text
GAPLESS = "iTunSMPB"  # of an item: samples that the encoder put in front and behind, and the others
NUMBERS = re.compile(rb" [0-9A-F]{8} ([0-9A-F]{8}) ([0-9A-F]{8}) ([0-9A-F]{16})")  # in it
HEAD = 8  # bytes of size and name
MOST = 64 << 20  # bytes of items
MOST_ITEMS = 1 << 16
MOST_TABLE = 1 << 25  # bytes: of AAC, two days of sound


@dataclass(frozen=True)
class Atom:
    """An atom of a file: its name, the offset of its head, and the offsets of its body."""

    name: bytes
    at: int
    start: int
    end: int


def copy_items(source: Path, part: Path) -> list[str]:
    """Replace the items of `part` by those of `source`, without what tells of its coding; return
    the names of what was left out because of loudness.

    Nothing is changed where one of the files has no items, or where samples come behind them, whose
    offsets would change. Raises OSError.
    """
    with source.open("rb") as file:
        items, _ = _read(file)
    with part.open("rb") as file:
        _, way = _read(file)
    if not items or not way or way[0].end < part.stat().st_size:
        return []

    dropped = []
    data = b""
    for item in items:
        name = free_name(item)
        if is_loudness(name):
            dropped.append(name)
        elif name != GAPLESS:
            data += item

    inner = way[-1]
    with part.open("r+b") as file:
        replace_bytes(file, inner.start, inner.end, data)
        longer = len(data) - (inner.end - inner.start)
        for atom in way:
            file.seek(atom.at)
            file.write((atom.end - atom.at + longer).to_bytes(4, "big"))
    return dropped


def is_joined(file: IO[bytes]) -> bool:
    """Return whether another file, which ffmpeg leaves out, follows; without fragments alone."""
    files = 0
    for atom in atoms(file, 0, file.seek(0, 2)):
        if atom.name == b"moof":
            return False
        files += atom.name == b"moov"
    return files > 1


def tagged_samples(file: IO[bytes]) -> int:
    """Return the samples per channel of an open file, also those that are not heard, by the item
    iTunSMPB, which encoders write instead of an edit list; 0 without it."""
    for item in _read(file)[0]:
        if free_name(item) == GAPLESS and (found := NUMBERS.search(item)):
            return sum(int(number, 16) for number in found.groups())
    return 0


def items_of(file: IO[bytes]) -> list[bytes]:
    """Return the items of an open file. Raises OSError."""
    return _read(file)[0]


def _read(file: IO[bytes]) -> tuple[list[bytes], list[Atom]]:
    """Return the items of a file, and the atoms that lead to them; nothing if there are none."""
    way: list[Atom] = []
    start = 0
    end = file.seek(0, 2)
    for name in WAY:
        found = next((atom for atom in atoms(file, start, end) if atom.name == name), None)
        if found is None or found.start - found.at != HEAD:
            return [], []
        way.append(found)
        start = found.start + (4 if name == b"meta" else 0)  # behind version and flags
        end = found.end
    if end - start > MOST:
        return [], []
    file.seek(start)
    data = file.read(end - start)
    inner = list(islice(atoms(file, start, end), MOST_ITEMS + 1))
    if len(inner) > MOST_ITEMS:
        return [], []
    return [data[atom.at - start : atom.end - start] for atom in inner], way


def atoms(file: IO[bytes], start: int, end: int) -> Iterator[Atom]:
    """Yield the atoms between two offsets, up to one that is damaged."""
    while start + HEAD <= end:
        file.seek(start)
        head = file.read(16)
        size = int.from_bytes(head[:4], "big")
        body = start + HEAD
        if size == 1:
            size = int.from_bytes(head[8:16], "big")
            body = start + 16
        if size == 0:
            size = end - start
        if size < body - start or start + size > end:
            return
        yield Atom(head[4:8], start, body, start + size)
        start += size


def among(file: IO[bytes], atom: Atom, name: bytes) -> Iterator[Atom]:
    """Return the atoms in `atom` with this name."""
    return (inner for inner in atoms(file, atom.start, atom.end) if inner.name == name)


def inner(file: IO[bytes], atom: Atom, *way: bytes) -> Atom:
    """Return the first atom at the end of a way into `atom`. Raises IndexError."""
    for name in way:
        found = next(among(file, atom, name), None)
        if found is None:
            raise IndexError
        atom = found
    return atom


def body_of(file: IO[bytes], atom: Atom) -> bytes:
    """Return the body of an atom, MOST_TABLE bytes at most. Raises IndexError if it is empty."""
    file.seek(atom.start)
    body = file.read(min(atom.end - atom.start, MOST_TABLE))
    if len(body) < 8:
        raise IndexError
    return body


def free_name(item: bytes) -> str:
    """Return the name of an item that has one as a text; nothing for others."""
    if item[4:8] != FREE:
        return ""
    at = item.find(b"name", HEAD)
    size = int.from_bytes(item[at - 4 : at], "big")
    return item[at + 8 : at - 4 + size].decode("utf-8", "replace") if at > 0 else ""
