"""Take the frames of an ID3v2 tag apart, of the versions 2.2 to 2.4."""

import re

UNSYNCHRONISED = 0x80
EXTENDED = 0x40


def tag_size(head: bytes) -> int:
    """Return the bytes of the ID3v2 tag that begins with `head` (10 bytes or more), 0 if none
    does."""
    if len(head) < 10 or head[:3] != b"ID3" or max(head[6:10]) > 0x7F:
        return 0
    footer = 10 if head[3] == 4 and head[5] & 0x10 else 0
    return 10 + _synchsafe(head[6:10]) + footer


def frames_of(tag: bytes) -> list[bytes]:
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


def repeated_frames(tag: bytes) -> list[str]:
    """Return the names of the text frames of an ID3v2 tag that hold several texts."""
    names = []
    for frame in frames_of(tag):
        count = name_bytes(frame)
        name = frame[:count].decode()
        body = frame[10 if count == 4 else 6 :]
        texts = _texts(body[1:], body[:1]) if name.startswith("T") else []
        if len(texts) > (2 if name in ("TXXX", "TXX") else 1):  # behind a description
            names.append(name)
    return names


def name_bytes(frame: bytes) -> int:
    return 4 if re.match(rb"[A-Z0-9]{4}", frame) else 3


def first_text(data: bytes, encoding: bytes) -> str:
    """Return the text at the beginning of `data`, which ends with a zero, in an encoding of ID3."""
    return next(iter(_texts(data, encoding)), "")


def _texts(data: bytes, encoding: bytes) -> list[str]:
    """Return the texts in `data`, with zeros between them and perhaps behind them."""
    coding = {b"\x01": "utf-16", b"\x02": "utf-16-be"}.get(encoding, "utf-8")
    return data.decode(coding, "replace").rstrip("\0").split("\0")


def _synchsafe(digits: bytes) -> int:
    """Return a number of four bytes with seven bits each."""
    return sum(byte << shift for byte, shift in zip(digits, (21, 14, 7, 0), strict=True))


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
