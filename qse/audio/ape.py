"""Read APEv2 tags, which lie at the end of MP3, WavPack, TTA and other files: items with a name and
one value or several (the specification of Hydrogenaudio)."""

from dataclasses import dataclass

from .tag_texts import from_bytes

MARK = b"APETAGEX"
EDGE = 32  # bytes of the header, which may be missing, and of the footer
HEADED = 0x80  # in the last byte of the flags of both: there is a header
LONGEST_NAME = 255  # bytes
MOST = 1 << 20  # items
MOST_TEXTS = 100  # of one
KIND = 6  # bits of the flags of an item, 0 for texts


@dataclass(frozen=True, slots=True)
class Item:
    """An item: all bytes of it, and its name."""

    data: bytes
    name: str

    @property
    def texts(self) -> list[str]:
        """Return its values, none if it holds no texts."""
        if self.data[4] & KIND:
            return []
        value = self.data[8 + len(self.name) + 1 :]
        return from_bytes(value).split("\0", MOST_TEXTS)


def items_in(back: bytes) -> list[Item]:
    """Return the items of the tag among the bytes at the end of a file, none if it is damaged, or
    has more than MOST."""
    foot = back.rfind(MARK)
    size = int.from_bytes(back[foot + 12 : foot + 16], "little")
    count = int.from_bytes(back[foot + 16 : foot + 20], "little")
    if foot < 0 or not EDGE <= size <= foot + EDGE or count > MOST:
        return []
    held = back[foot + EDGE - size : foot]
    found = []
    begin = 0
    for _ in range(count):
        length = int.from_bytes(held[begin : begin + 4], "little")
        stop = held.find(b"\0", begin + 8, begin + 8 + LONGEST_NAME + 1)
        end = stop + 1 + length
        if stop < 0 or end > len(held):
            return []
        found.append(Item(held[begin:end], held[begin + 8 : stop].decode("latin-1")))
        begin = end
    return found
