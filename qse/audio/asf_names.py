"""Name the tags of a WMA or WMV file that have several values, of which ffmpeg reads the last (ASF
specification, sections 3.10, 3.11 and 4.8)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HEAD = 24  # bytes of an object before its content: identifier and size
TOP = HEAD + 6  # of the one that holds the others
DESCRIPTION = bytes.fromhex("3326b2758e66cf11a6d900aa0062ce6c")
EXTENDED = bytes.fromhex("40a4d0d207e3d21197f000a0c95ea850")
EXTENSION = bytes.fromhex("b503bf5f2ea9cf118ee300c00c205365")
LIBRARY = bytes.fromhex("941c23449894d149a1411d134e457054")
FIXED = ("Title", "Author", "Copyright", "Description", "Rating")
MOST = 1 << 20  # bytes of the header that are read
IN_EXTENSION = 22  # bytes before the objects in it


def repeated_tags(path: Path) -> list[str]:
    """Return the names of tags that a file has several times. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(MOST)
    names = Counter[str]()
    for kind, start, end in _objects(head, TOP, int.from_bytes(head[16:HEAD], "little")):
        names.update(_names(head, kind, start, end))
        if kind == EXTENSION:
            for inner, begin, stop in _objects(head, start + IN_EXTENSION, end):
                names.update(_names(head, inner, begin, stop))
    return [name for name, count in names.items() if count > 1]


def _objects(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the kind of each object, and where its content begins and ends."""
    while at + HEAD <= min(end, len(data)):
        size = int.from_bytes(data[at + 16 : at + HEAD], "little")
        if size < HEAD or at + size > min(end, len(data)):
            return
        yield data[at : at + 16], at + HEAD, at + size
        at += size


def _names(data: bytes, kind: bytes, start: int, end: int) -> Iterator[str]:
    """Yield the names of the tags in an object."""
    if kind == DESCRIPTION:
        for index, name in enumerate(FIXED):
            if any(data[start + 2 * index : start + 2 * index + 2]):
                yield name
    at = start + 2  # behind the number of tags
    while kind in (EXTENDED, LIBRARY) and at < end:
        if kind == LIBRARY:  # language, stream, length of the name, type, length of the value
            length = _number(data, at + 4, 2)
            begin = at + 12
            after = begin + length + _number(data, at + 8, 4)
        else:  # length of the name, name, type, length of the value
            length = _number(data, at, 2)
            begin = at + 2
            after = begin + length + 4 + _number(data, begin + length + 2, 2)
        yield data[begin : begin + length].decode("utf-16-le", "replace").rstrip("\0")
        at = after


def _number(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(data[at : at + count], "little")
