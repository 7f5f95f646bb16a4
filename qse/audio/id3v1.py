"""Read ID3v1 tags: 128 bytes at the end of a file, with texts of a fixed length."""

from .tag_texts import from_bytes

SIZE = 128  # bytes
FIELDS = {"title": (3, 33), "artist": (33, 63), "album": (63, 93), "comment": (97, 125)}


def texts_in(back: bytes) -> dict[str, str]:
    """Return the texts of the tag with which the tags at the end of a file end, by their names;
    none without one."""
    tag = back[-SIZE:]
    if len(tag) < SIZE or not tag.startswith(b"TAG"):
        return {}
    found = {}
    for name, (begin, end) in FIELDS.items():
        if text := from_bytes(tag[begin:end].partition(b"\0")[0]).strip():
            found[name] = text
    return found
