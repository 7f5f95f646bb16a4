"""Read the channel layouts of Core Audio, which CAF and AIFF files have in a chunk `chan`."""

from .chunks import Container

BITMAP = 0x10000  # kinds of channel layout
DESCRIPTIONS = 0
MASKS = {  # by the other kinds, where the order of the channels is that of the bits
    **{100 << 16 | 1: 0x4, 101 << 16 | 2: 0x3, 102 << 16 | 2: 0x3, 108 << 16 | 4: 0x33},
    **{113 << 16 | 3: 0x7, 115 << 16 | 4: 0x107, 117 << 16 | 5: 0x37, 121 << 16 | 6: 0x3F},
    **{125 << 16 | 7: 0x13F, 126 << 16 | 8: 0xFF, 131 << 16 | 3: 0x103, 132 << 16 | 4: 0x33},
    **{133 << 16 | 3: 0xB, 134 << 16 | 4: 0x10B, 135 << 16 | 5: 0x3B, 136 << 16 | 4: 0xF},
    137 << 16 | 5: 0x10F,
}
NOWHERE = (147, 0xFFFF)  # upper halves of kinds of channels without positions


def layout_in(container: Container | None) -> bytes | None:
    """Return the channel layout of a file, None if it has none."""
    chunk = (container.find(b"chan") or container.find(b"CHAN")) if container else None
    return container.body(chunk) if container and chunk else None


def mask_of(body: bytes | None) -> int | None:
    """Return the channel mask that a channel layout states, 0 for channels without positions, None
    if it is no mask, or there is no layout."""
    if body is None:
        return None
    kind = int.from_bytes(body[:4], "big")
    count = int.from_bytes(body[8:12], "big")
    if kind == BITMAP:
        return int.from_bytes(body[4:8], "big")
    if kind != DESCRIPTIONS:
        return 0 if kind >> 16 in NOWHERE else MASKS.get(kind)
    labels = [
        int.from_bytes(body[at : at + 4], "big")
        for at in range(12, min(len(body), 12 + 20 * count), 20)
    ]
    positions = bool(labels) and max(labels) <= 18 and min(labels) > 0
    if not positions or labels != sorted(set(labels)):
        return None
    return sum(1 << label - 1 for label in labels)


def bitmap(mask: int) -> bytes:
    """Return the body of the chunk that states a mask."""
    return BITMAP.to_bytes(4, "big") + mask.to_bytes(4, "big") + bytes(4)
