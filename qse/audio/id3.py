"""Copy tags of MP3 files byte by byte, which FLAC files may have too: ID3v2 at the beginning, APEv2
and ID3v1 at the end.

Frames that state a loudness, or places in the file, are left out: these no longer hold after
enhancement.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .file_edit import replace_bytes
from .formats import MOST_METADATA
from .loudness import is_loudness

LOUDNESS = (b"RVA2", b"RVAD", b"RVA", b"RGAD")  # relative volume, ReplayGain
PLACES = (b"MLLT", b"MLL", b"ASPI")  # tables of offsets into the file
NAMED = (b"TXXX", b"TXX", b"COMM", b"COM")  # frames with a description, which says what they are
COVERS = (b"APIC", b"PIC")
UNSYNCHRONISED = 0x80
EXTENDED = 0x40
ID3V1 = 128  # bytes of the tag at the very end
LONGEST_KEY = 255  # bytes of the name of an APEv2 item
APE = 32  # bytes of the header, and of the footer, of an APEv2 tag


@dataclass(frozen=True)
class Mp3Tags:
    """The tags around the samples of a file: bytes at its beginning and at its end."""

    front: bytes
    back: bytes


def tag_size(head: bytes) -> int:
    """Return the bytes of the ID3v2 tag that begins with `head` (10 bytes or more), 0 if none
    does."""
    if len(head) < 10 or head[:3] != b"ID3" or max(head[6:10]) > 0x7F:
        return 0
    footer = 10 if head[3] == 4 and head[5] & 0x10 else 0
    return 10 + _synchsafe(head[6:10]) + footer


def read_tags(path: Path) -> Mp3Tags:
    """Return the tags around the samples of a file.

    Raises ValueError if they are larger than MOST_METADATA, and OSError.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = 0
        while (length := _length_at(file, start)) and start + length <= size:
            start += length
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
    for frame in _frames(tag):
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
    for frame in _frames(tags.front):
        name = frame[: _name_bytes(frame)]
        named = {b"CHAP": "chapters", b"CTOC": "chapters"}.get(name, name.decode("latin-1"))
        names.append("cover" if name in COVERS else named)
    return list(dict.fromkeys(names))


def _length_at(file: IO[bytes], start: int) -> int:
    file.seek(start)
    return tag_size(file.read(10))


def _synchsafe(digits: bytes) -> int:
    """Return a number of four bytes with seven bits each."""
    return sum(byte << shift for byte, shift in zip(digits, (21, 14, 7, 0), strict=True))


def _as_synchsafe(number: int) -> bytes:
    return bytes(number >> shift & 0x7F for shift in (21, 14, 7, 0))


def _frames(tag: bytes) -> list[bytes]:
    """Return the frames of an ID3v2 tag, each with its header; the padding behind them is left
    out."""
    if len(tag) < 10 or tag[3] not in (2, 3, 4):
        return []
    body = tag[10 : tag_size(tag)]
    if tag[3] < 4 and tag[5] & UNSYNCHRONISED:
        body = body.replace(b"\xff\x00", b"\xff")
    if tag[3] > 2 and tag[5] & EXTENDED:
        size = _synchsafe(body[:4]) if tag[3] == 4 else 4 + int.from_bytes(body[:4], "big")
        body = body[size:]
    names, head = (3, 6) if tag[3] == 2 else (4, 10)
    frames = []
    at = 0
    while re.fullmatch(rb"[A-Z0-9]+", body[at : at + names]) and at + head <= len(body):
        size = int.from_bytes(body[at + names : at + names + (3 if names == 3 else 4)], "big")
        if tag[3] == 4:
            size = _size_of_version_4(body, at)
        if at + head + size > len(body):
            break
        frames.append(body[at : at + head + size])
        at += head + size
    return frames


def _size_of_version_4(body: bytes, at: int) -> int:
    """Return the size of a frame: seven bits per byte, but eight as some programs write it,
    where only that fits."""
    digits = body[at + 4 : at + 8]
    plain = int.from_bytes(digits, "big")
    if max(digits) > 0x7F:
        return plain
    size = _synchsafe(digits)
    fits = body[at + 10 + size : at + 14 + size]
    if size != plain and fits and not re.fullmatch(rb"[A-Z0-9]{4}|\0+", fits):
        return plain
    return size


def _name_bytes(frame: bytes) -> int:
    return 4 if re.match(rb"[A-Z0-9]{4}", frame) else 3


def _stale(frame: bytes) -> str:
    """Return the name of a frame that no longer holds, nothing for another one."""
    count = _name_bytes(frame)
    name = frame[:count]
    if name in LOUDNESS or name in PLACES:
        return name.decode()
    if name not in NAMED:
        return ""
    body = frame[10 if count == 4 else 6 :]
    start = 4 if name.startswith(b"COM") else 1  # behind encoding and, for comments, language
    description = _text(body[start:], body[:1])
    return description if is_loudness(description) else ""


def _text(data: bytes, encoding: bytes) -> str:
    """Return the text at the beginning of `data`, which ends with a zero, in an encoding of ID3."""
    if encoding not in (b"\x01", b"\x02"):
        return data.partition(b"\0")[0].decode("utf-8", "replace")
    end = next((at for at in range(0, len(data) - 1, 2) if not any(data[at : at + 2])), len(data))
    return data[:end].decode("utf-16" if encoding == b"\x01" else "utf-16-be", "replace")


def _back_start(file: IO[bytes], front: int, end: int) -> int:
    """Return where the tags at the end of a file begin: APEv2, then ID3v1.

    front: where the tags at its beginning end. end: its size.
    """
    if _bytes_before(file, front, end, ID3V1)[:3] == b"TAG":
        end -= ID3V1
    footer = _bytes_before(file, front, end, APE)
    if footer[:8] != b"APETAGEX":
        return end
    size = int.from_bytes(footer[12:16], "little") + (APE if footer[23] & 0x80 else 0)
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
    at = back.find(b"APETAGEX")
    if at < 0 or not back[at + 23] & 0x80:  # there is no header: not written by today's programs
        return back, []
    size = int.from_bytes(back[at + 12 : at + 16], "little")
    count = int.from_bytes(back[at + 16 : at + 20], "little")
    end = at + 32 + size
    items = back[at + 32 : at + size]
    parts = []
    dropped = []
    begin = 0
    for _ in range(count):
        length = int.from_bytes(items[begin : begin + 4], "little")
        stop = items.find(b"\0", begin + 8, begin + 8 + LONGEST_KEY + 1)
        next_item = stop + 1 + length
        if stop < 0 or next_item > len(items):
            return back, []
        key = items[begin + 8 : stop].decode("latin-1")
        if is_loudness(key):
            dropped.append(key)
        else:
            parts.append(items[begin:next_item])
        begin = next_item
    if not dropped:
        return back, []
    kept = b"".join(parts)
    head = bytearray(back[at : at + 32])
    foot = bytearray(back[end - 32 : end])
    for edge in (head, foot):
        edge[12:16] = (len(kept) + 32).to_bytes(4, "little")
        edge[16:20] = (count - len(dropped)).to_bytes(4, "little")
    whole = bytes(head) + kept + bytes(foot) if count > len(dropped) else b""
    return back[:at] + whole + back[end:], dropped
