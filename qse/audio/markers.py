"""Markers in a recording: places with names, which editors and recorders write into WAV, AIFF and
CAF files in three different forms.

WAV: chunk `cue `, names in `LIST adtl` (Microsoft and IBM, 1991). AIFF: `MARK` (Apple, 1989). CAF:
`mark`, names in `strg` (Apple, 2011).
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .chunks import Container

MOST = 4096  # markers of a file; AIFF numbers them by 16 bits
LONGEST = 255  # bytes of a name in AIFF
MOST_TEXT = 1 << 20  # characters of all names: many markers may share one, or parts of it
LAST = (1 << 32) - 1  # largest place that WAV and AIFF can state
POINT = struct.Struct("<II4sIII")  # number, order, chunk, its start, start of block, place
MARKER = struct.Struct(">IdI8sI")  # type, place, number, time code, channel
NO_TIME_CODE = b"\xff" * 8

Chunks = list[tuple[bytes, bytes]]  # identifiers and bodies


@dataclass(frozen=True)
class Marker:
    """at: samples per channel from the beginning."""

    at: int
    name: str = ""


@dataclass(frozen=True)
class Markers:
    """found: the markers of a file. names: those that messages have for what holds them alone."""

    found: list[Marker]
    names: tuple[str, ...]


def markers_of(container: Container) -> Markers:
    """Return the markers of a file; none where they are damaged, or have names of more than
    MOST_TEXT characters."""
    try:
        markers = READERS[container.dialect.name](container)
        _check_text(marker.name for marker in markers.found)
        return markers
    except (struct.error, IndexError, ValueError, KeyError, OverflowError):
        return Markers([], ())


def _check_text(names: Iterable[str]) -> None:
    """Raise ValueError if names are longer than MOST_TEXT in all."""
    if sum(map(len, names)) > MOST_TEXT:
        raise ValueError("too long")


def marker_chunks(form: str, markers: list[Marker]) -> Chunks:
    """Return the chunks that hold `markers` in a file of the family `form`; none if it cannot."""
    held = [marker for marker in markers[:MOST] if 0 <= marker.at <= LAST]
    return WRITERS[form](held) if len(held) == len(markers) and form in WRITERS else []


def _body(container: Container, name: bytes) -> bytes:
    chunk = container.find(name)
    return container.body(chunk) if chunk else b""


def _of_wav(container: Container) -> Markers:
    body = _body(container, b"cue ")
    count = int.from_bytes(body[:4], "little")
    labels: dict[int, str] = {}
    only_names = True
    for chunk in container.chunks:
        listed = container.body(chunk) if chunk.name == b"LIST" else b""
        if listed[:4] == b"adtl":
            for kind, part in _parts(listed):
                only_names &= kind == b"labl"
                if kind == b"labl":
                    labels[struct.unpack_from("<I", part)[0]] = _text(part[4:])
    found = []
    for number in range(min(count, MOST)):
        point = POINT.unpack_from(body, 4 + number * POINT.size)
        found.append(Marker(point[-1], labels.get(point[0], "")))
    return Markers(found, ("cue", "adtl") if only_names else ("cue",))


def _parts(listed: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield identifier and body of the parts of a list."""
    at = 4
    while at + 8 <= len(listed):
        size = int.from_bytes(listed[at + 4 : at + 8], "little")
        yield listed[at : at + 4], listed[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _text(data: bytes) -> str:
    """Return a name that ends at a zero; programs write UTF-8, or Latin-1."""
    data = data.partition(b"\0")[0]
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _of_aiff(container: Container) -> Markers:
    body = _body(container, b"MARK")
    count = int.from_bytes(body[:2], "big")
    found = []
    at = 2
    for _ in range(min(count, MOST)):
        place = int.from_bytes(body[at + 2 : at + 6], "big")
        length = body[at + 6]
        found.append(Marker(place, _text(body[at + 7 : at + 7 + length])))
        at += 7 + length + (length + 1) % 2
    return Markers(found, ("MARK",))


def _of_caf(container: Container) -> Markers:
    body = _body(container, b"mark")
    count = int.from_bytes(body[4:8], "big")
    names = _strings(_body(container, b"strg"))
    found = []
    for number in range(min(count, MOST)):
        marker = MARKER.unpack_from(body, 8 + number * MARKER.size)
        found.append(Marker(round(marker[1]), names.get(marker[2], "")))
    return Markers(found, ("mark", "strg"))


def _strings(body: bytes) -> dict[int, str]:
    if not body:
        return {}
    count = min(int.from_bytes(body[:4], "big"), MOST)
    texts = body[4 + 12 * count :]
    if len(texts) > 4 * MOST_TEXT:
        raise ValueError("too long")
    names = {}
    long = 0
    for number in range(count):
        key, start = struct.unpack_from(">Iq", body, 4 + 12 * number)
        end = texts.find(b"\0", start) if start >= 0 else -1
        names[key] = _text(texts[start : end if end >= 0 else len(texts)])
        long += len(names[key])
        if long > MOST_TEXT:  # they may lie in each other
            raise ValueError("too long")
    return names


def _to_wav(markers: list[Marker]) -> Chunks:
    points = b""
    labels = b"adtl"
    for number, marker in enumerate(markers, 1):
        points += POINT.pack(number, marker.at, b"data", 0, 0, marker.at)
        text = marker.name.encode() + b"\0"
        labels += b"labl" + struct.pack("<II", 4 + len(text), number) + text + bytes(len(text) % 2)
    return [(b"cue ", struct.pack("<I", len(markers)) + points), (b"LIST", labels)]


def _to_aiff(markers: list[Marker]) -> Chunks:
    body = struct.pack(">H", len(markers))
    for number, marker in enumerate(markers, 1):
        text = _shortened(marker.name)
        body += struct.pack(">HIB", number, marker.at, len(text)) + text
        body += bytes((len(text) + 1) % 2)
    return [(b"MARK", body)]


def _shortened(name: str) -> bytes:
    return name.encode()[:LONGEST].decode(errors="ignore").encode()


def _to_caf(markers: list[Marker]) -> Chunks:
    body = struct.pack(">II", 0, len(markers))
    table = b""
    texts = b""
    for number, marker in enumerate(markers, 1):
        body += MARKER.pack(0, marker.at, number, NO_TIME_CODE, 0)
        table += struct.pack(">Iq", number, len(texts))
        texts += marker.name.encode() + b"\0"
    return [(b"mark", body), (b"strg", struct.pack(">I", len(markers)) + table + texts)]


READERS: dict[str, Callable[[Container], Markers]] = {
    "WAV": _of_wav,
    "AIFF": _of_aiff,
    "CAF": _of_caf,
}
WRITERS: dict[str, Callable[[list[Marker]], Chunks]] = {
    "WAV": _to_wav,
    "AIFF": _to_aiff,
    "CAF": _to_caf,
}
