"""Name what ffmpeg does not read of the tags and chapters of a Matroska file (RFC 9559)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .ebml import SEGMENT, Element, element_at
from .file_bytes import FileBytes

CHAPTERS = 0x1043A770
EDITION = 0x45B9
CHAPTER = 0xB6
DISPLAY = 0x80  # the name of a chapter in a language
TAGS = 0x1254C367
TAG = 0x7373  # those of one target
SIMPLE = 0x67C8
NAME = 0x45A3
MOST_NAME = 1 << 10  # bytes
MOST = 1 << 18  # elements in one: days of clusters


def unread_names(path: Path) -> tuple[list[str], list[str]]:
    """Return names for what there is beside the chapters of the first edition, and the names of
    tags that a target has several times, of which ffmpeg reads the last. Raises OSError."""
    with path.open("rb") as file:
        data = FileBytes(file)
        whole = Element(0, 0, 0, len(data))
        segments = _children(data, whole, (SEGMENT,))
        held = [each for one in segments for each in _children(data, one, (CHAPTERS, TAGS))]
        editions: list[Element] = []
        tags: list[Element] = []
        for each in held:
            editions += _children(data, each, (EDITION,)) if each.number == CHAPTERS else ()
            tags += _children(data, each, (TAG,)) if each.number == TAGS else ()
        return list(_beside(data, editions)), list(_repeated(data, tags))


def _beside(data: FileBytes, editions: list[Element]) -> dict[str, None]:
    found = dict[str, None]()
    if len(editions) > 1:
        found["further editions of chapters"] = None
    for edition in editions:
        for chapter in _children(data, edition, (CHAPTER,)):
            if any(_children(data, chapter, (CHAPTER,))):
                found["nested chapters"] = None
            if len(list(_children(data, chapter, (DISPLAY,)))) > 1:
                found["chapter names in other languages"] = None
    return found


def _repeated(data: FileBytes, tags: list[Element]) -> dict[str, None]:
    found = dict[str, None]()
    for tag in tags:
        names = Counter[str]()
        for simple in _children(data, tag, (SIMPLE,)):
            for name in _children(data, simple, (NAME,)):
                text = data[name.body : min(name.end or 0, name.body + MOST_NAME)]
                names[text.decode("utf-8", "replace").rstrip("\0")] += 1
        found |= dict.fromkeys(name for name, count in names.items() if count > 1)
    return found


def _children(data: FileBytes, holder: Element, numbers: tuple[int, ...]) -> Iterator[Element]:
    """Yield the elements with one of these numbers in another one, up to one without an end."""
    at = holder.body
    end = len(data) if holder.end is None else holder.end
    for _ in range(MOST):
        found = element_at(data, at) if at < end else None
        if found is None:
            return
        if found.number in numbers:
            yield found
        if found.end is None or found.end > end:
            return
        at = found.end
