"""Take apart and join the comments of FLAC, Vorbis and Opus: a vendor string and entries
NAME=text, as bytes."""

from dataclasses import dataclass

from .loudness import is_loudness

PICTURE = "METADATA_BLOCK_PICTURE"
MASK = "WAVEFORMATEXTENSIBLE_CHANNEL_MASK"


@dataclass(frozen=True)
class Comments:
    """The comments of a file.

    `entries`: NAME=text each, in UTF-8, in their order; a name may come again.
    """

    vendor: bytes
    entries: list[bytes]

    def names(self) -> list[str]:
        """Return the names in upper case, each once."""
        return list(dict.fromkeys(map(name_of, self.entries)))

    def repeated(self) -> list[str]:
        """Return the names that have several texts, but for pictures."""
        names = list(map(name_of, self.entries))
        return [name for name in self.names() if names.count(name) > 1 and name != PICTURE]

    def get(self, name: str) -> str | None:
        """Return the first text under `name`, which is in upper case."""
        for entry in self.entries:
            if name_of(entry) == name:
                return entry.partition(b"=")[2].decode(errors="replace")
        return None

    def packed(self) -> bytes:
        """Return the bytes of a comment block, without a framing bit."""
        count = len(self.entries).to_bytes(4, "little")
        return b"".join([_sized(self.vendor), count, *map(_sized, self.entries)])

    def still_true(self) -> "tuple[Comments, list[str]]":
        """Return the comments without those that state a loudness, and the names of these."""
        dropped = list(filter(is_loudness, self.names()))
        names = set(dropped)
        kept = [entry for entry in self.entries if name_of(entry) not in names]
        return Comments(self.vendor, kept), dropped


def parse(data: bytes) -> Comments:
    """Take a comment block apart. Raises ValueError if it is damaged."""
    vendor, at = _take(data, 0)
    count = int.from_bytes(data[at : at + 4], "little")
    at += 4
    entries = []
    for _ in range(count):
        entry, at = _take(data, at)
        entries.append(entry)
    return Comments(vendor, entries)


def name_of(entry: bytes) -> str:
    """Return the name of an entry in upper case."""
    return entry.partition(b"=")[0].decode("latin-1").upper()


def _take(data: bytes, at: int) -> tuple[bytes, int]:
    size = int.from_bytes(data[at : at + 4], "little")
    end = at + 4 + size
    if at + 4 > len(data) or end > len(data):
        raise ValueError("a comment is longer than its block")
    return data[at + 4 : end], end


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(4, "little") + part
