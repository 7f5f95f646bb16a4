"""Name the tags of a WMA or WMV file that have several values, of which ffmpeg reads the last (ASF
specification, sections 3.10, 3.11 and 4.8)."""

from collections import Counter
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
    names = Counter(_names(head, TOP, min(len(head), int.from_bytes(head[16:24], "little"))))
    return [name for name, count in names.items() if count > 1]


def _names(data: bytes, at: int, end: int) -> list[str]:
    found = []
    while at + HEAD <= end:
        size = int.from_bytes(data[at + 16 : at + HEAD], "little")
        if size < HEAD or at + size > end:
            break
        kind, body = data[at : at + 16], data[at + HEAD : at + size]
        if kind == DESCRIPTION:
            lengths = (body[2 * index : 2 * index + 2] for index in range(len(FIXED)))
            found += [name for name, length in zip(FIXED, lengths, strict=True) if any(length)]
        elif kind == EXTENSION:
            found += _names(data, at + HEAD + IN_EXTENSION, at + size)
        elif kind == EXTENDED:
            found += _listed(body, 0, 4)
        elif kind == LIBRARY:
            found += _listed(body, 4, 8)
        at += size
    return found


def _listed(body: bytes, before: int, behind: int) -> list[str]:
    """Return the names in a list of tags. before: bytes in front of the length of a name; behind:
    of what stands between the name, or that length, and the value."""
    found = []
    at = 2
    for _ in range(int.from_bytes(body[:2], "little")):
        at += before
        length = int.from_bytes(body[at : at + 2], "little")
        if before:  # the length of the value comes before the name
            value = int.from_bytes(body[at + 4 : at + behind], "little")
            name = body[at + behind : at + behind + length]
            at += behind + length + value
        else:
            name = body[at + 2 : at + 2 + length]
            value = int.from_bytes(body[at + 4 + length : at + 6 + length], "little")
            at += 2 + length + behind + value
        found.append(name.decode("utf-16-le", "replace").rstrip("\0"))
    return found
