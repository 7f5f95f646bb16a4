"""Copy tags of MP3 files byte by byte, which FLAC files may have too: ID3v2 at the beginning, APEv2
and ID3v1 at the end.

Frames that state a loudness, or places in the file, are left out: these no longer hold after
enhancement.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .ape import EDGE, HEADED, MARK, items_in
from .file_edit import replace_bytes
from .formats import MOST_METADATA
from .id3_frames import EXTENDED, UNSYNCHRONISED, first_text, frames_of, name_bytes, tag_size
from .loudness import is_loudness

LOUDNESS = (b"RVA2", b"RVAD", b"RVA", b"RGAD")  # relative volume, ReplayGain
PLACES = (b"MLLT", b"MLL", b"ASPI")  # tables of offsets into the file
NAMED = (b"TXXX", b"TXX", b"COMM", b"COM")  # frames with a description, which says what they are
COVERS = (b"APIC", b"PIC")
ID3V1 = 128  # bytes of the tag at the very end
TOO_LARGE = f"tags of more than {MOST_METADATA >> 20} MiB"


@dataclass(frozen=True)
class Mp3Tags:
    """The tags around the samples of a file: bytes at its beginning and at its end."""

    front: bytes
    back: bytes


def read_tags(path: Path) -> Mp3Tags:
    """Return the tags around the samples of a file.

    Raises ValueError if they are larger than MOST_METADATA, and OSError.
    """
    with path.open("rb") as file:
        return tags_in(file, front_end(file))


def few_tags(path: Path) -> Mp3Tags | None:
    """Return the tags around the samples of a file, None if they are TOO_LARGE. Raises OSError."""
    try:
        return read_tags(path)
    except ValueError:
        return None


def repeated_items(tags: Mp3Tags | None) -> list[str]:
    """Return the names of APEv2 items with several texts, of which ffmpeg reads the first."""
    several = [item.name for item in items_in(tags.back) if len(item.texts) > 1] if tags else []
    return [name for name in several if not is_loudness(name)]


def front_end(file: IO[bytes]) -> int:
    """Return where the ID3v2 tags at the beginning of an open file end, and its frames begin."""
    size = file.seek(0, 2)
    start = 0
    while (length := _length_at(file, start)) and start + length <= size:
        start += length
    return start


def tags_in(file: IO[bytes], start: int) -> Mp3Tags:
    """Return the tags around the samples of an open file, the first of which end at `start`;
    raises as `read_tags`."""
    size = file.seek(0, 2)
    end = _back_start(file, start, size)
    if start + size - end > MOST_METADATA:
        raise ValueError("the tags are too large")
    file.seek(0)
    front = file.read(start)
    file.seek(end)
    return Mp3Tags(front, file.read())


def copy_tags(tags: Mp3Tags, part: Path) -> list[str]:
    """Replace the tags around the samples of `part` by `tags`; return the names of what was left
    out."""
    own = read_tags(part)
    front, dropped = without_loudness_frames(tags.front)
    back, more = _without_loudness_items(tags.back)
    with part.open("r+b") as file:
        end = file.seek(0, 2)
        replace_bytes(file, end - len(own.back), end, back)
        replace_bytes(file, 0, len(own.front), front)
    return dropped + more


def without_loudness_frames(tag: bytes) -> tuple[bytes, list[str]]:
    """Return an ID3v2 tag without frames that no longer hold, and their names.

    A tag that has no such frames, or is not understood, is returned as it is.
    """
    if len(tag) < 10 or tag_size(tag) != len(tag) or tag[3] not in (2, 3, 4):
        return tag, []
    kept = []
    dropped = []
    for frame in frames_of(tag):
        name = _stale(frame)
        if name:
            dropped.append(name)
        else:
            kept.append(frame)
    if not dropped:
        return tag, []

    body = b"".join(kept)
    header = tag[:5] + bytes([tag[5] & ~(EXTENDED | 0x10 | (UNSYNCHRONISED if tag[3] < 4 else 0))])
    return header + _as_synchsafe(len(body)) + body, dropped


def frame_names(tags: Mp3Tags) -> list[str]:
    """Return names for the tags of a file: cover, chapters, or the identifier of the frame."""
    names = ["tags at the end"] if tags.back else []
    for frame in frames_of(tags.front):
        name = frame[: name_bytes(frame)]
        named = {b"CHAP": "chapters", b"CTOC": "chapters"}.get(name, name.decode("latin-1"))
        names.append("cover" if name in COVERS else named)
    return list(dict.fromkeys(names))


def _length_at(file: IO[bytes], start: int) -> int:
    file.seek(start)
    return tag_size(file.read(10))


def _as_synchsafe(number: int) -> bytes:
    return bytes(number >> shift & 0x7F for shift in (21, 14, 7, 0))


def _stale(frame: bytes) -> str:
    """Return the name of a frame that no longer holds, nothing for another one."""
    count = name_bytes(frame)
    name = frame[:count]
    if name in LOUDNESS or name in PLACES:
        return name.decode()
    if name not in NAMED:
        return ""
    body = frame[10 if count == 4 else 6 :]
    start = 4 if name.startswith(b"COM") else 1  # behind encoding and, for comments, language
    description = first_text(body[start:], body[:1])
    return description if is_loudness(description) else ""


def _back_start(file: IO[bytes], front: int, end: int) -> int:
    """Return where the tags at the end of a file begin: APEv2, then ID3v1.

    front: where the tags at its beginning end. end: its size.
    """
    if _bytes_before(file, front, end, ID3V1)[:3] == b"TAG":
        end -= ID3V1
    footer = _bytes_before(file, front, end, EDGE)
    if footer[:8] != MARK:
        return end
    size = int.from_bytes(footer[12:16], "little") + (EDGE if footer[23] & HEADED else 0)
    return end - size if size <= end - front else end


def _bytes_before(file: IO[bytes], front: int, end: int, count: int) -> bytes:
    """Return the `count` bytes before `end`, none if they begin before `front`."""
    if end - count < front:
        return b""
    file.seek(end - count)
    return file.read(count)


def _without_loudness_items(back: bytes) -> tuple[bytes, list[str]]:
    """Return the tags at the end without APEv2 items that no longer hold, and the names of
    these."""
    at = back.find(MARK)
    if at < 0 or not back[at + 23] & HEADED:  # there is no header: not written by today's programs
        return back, []
    end = back.rfind(MARK) + EDGE
    items = items_in(back)
    parts = [item.data for item in items if not is_loudness(item.name)]
    dropped = [item.name for item in items if is_loudness(item.name)]
    if not dropped:
        return back, []
    kept = b"".join(parts)
    head = bytearray(back[at : at + EDGE])
    foot = bytearray(back[end - EDGE : end])
    for edge in (head, foot):
        edge[12:16] = (len(kept) + EDGE).to_bytes(4, "little")
        edge[16:20] = len(parts).to_bytes(4, "little")
    whole = bytes(head) + kept + bytes(foot) if parts else b""
    return back[:at] + whole + back[end:], dropped
