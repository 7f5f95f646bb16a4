"""Name the items of an MP4 file that ffmpeg does not read as tags, and those with several values,
of which it reads the first."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO

from .loudness import is_loudness
from .mp4_items import GAPLESS, HEAD, free_name, items_of
from .tag_texts import from_bytes

MOST_VALUES = 100  # of an item
TEXTS = {1: "utf-8", 2: "utf-16-be"}  # codings, by the kind of a value
# items of numbers that ffmpeg reads; covr is counted elsewhere
READ = (
    *(b"trkn", b"disk", b"cpil", b"pgap", b"pcst", b"hdvd", b"stik", b"rtng", b"gnre", b"akID"),
    *(b"tves", b"tvsn", b"covr"),
)


@dataclass(frozen=True)
class Item:
    """An item: its name, the code of its kind, and its values, texts or numbers in words."""

    name: str
    code: bytes
    values: list[str]


def items_in(file: IO[bytes]) -> list[Item]:
    """Return the items of an open file."""
    found = []
    for data in items_of(file):
        name = free_name(data) or data[4:8].decode("latin-1")
        found.append(Item(name, data[4:8], list(islice(_values(data), MOST_VALUES))))
    return found


def unread(items: Iterable[Item], held: set[str]) -> list[str]:
    """Return the names of the items of which no value is among the texts that are `held`."""
    found = []
    for item in items:
        is_read = item.code in READ or not held.isdisjoint(item.values)
        if not is_read and item.name != GAPLESS and not is_loudness(item.name):
            found.append(item.name)
    return found


def repeated_values(items: Iterable[Item]) -> list[str]:
    """Return the names of items with several values."""
    return [item.name for item in items if item.code not in READ and len(item.values) > 1]


def _values(item: bytes) -> Iterator[str]:
    at = HEAD
    while at + HEAD <= len(item):
        size = int.from_bytes(item[at : at + 4], "big")
        if size < HEAD:
            return
        if item[at + 4 : at + 8] == b"data":
            kind = int.from_bytes(item[at + 8 : at + 12], "big")
            value = item[at + 16 : at + size]
            number = str(int.from_bytes(value[:8], "big"))
            text = from_bytes(value, TEXTS[kind]) if kind in TEXTS else number
            yield text.strip()
        at += size
