"""Read and write the positions of the channels: a mask with a bit per loudspeaker, as
WAVE_FORMAT_EXTENSIBLE has it."""

from pathlib import Path

from .chunks import AIFF, CAF, Container, read_container, write_size
from .file_edit import replace_bytes
from .flac_blocks import COMMENT, Block, comments_of, edit_blocks, read_blocks
from .vorbis_comments import MASK, Comments

EXTENSIBLE = 0xFFFE
# of the subformat, behind the two bytes of the coding
EXTENSION = bytes.fromhex("000000001000800000aa00389b71")
PLAIN_TAGS = (1, 3)  # PCM, float
# where FLAC says nothing
FLAC_MASKS = {
    1: 0x4,
    2: 0x3,
    3: 0x7,
    4: 0x33,
    5: 0x37,
    6: 0x3F,
    7: 0x70F,
    8: 0x63F,
}
BITMAP = 0x10000  # kinds of channel layout in CAF and AIFF
DESCRIPTIONS = 0
CAF_MASKS = {  # by the other kinds, where the order of the channels is that of the bits
    **{100 << 16 | 1: 0x4, 101 << 16 | 2: 0x3, 113 << 16 | 3: 0x7, 108 << 16 | 4: 0x33},
    **{117 << 16 | 5: 0x37, 121 << 16 | 6: 0x3F, 126 << 16 | 8: 0xFF},
}


def read_mask(path: Path) -> int | None:
    """Return the channel mask that a WAV, FLAC, CAF or AIFF file states, 0 for channels without
    positions.

    None if it states none. Raises OSError.
    """
    container = read_container(path)
    if container is None:
        return _flac_mask(path)
    if container.dialect in (CAF, AIFF):
        chunk = container.find(b"chan") or container.find(b"CHAN")
        return _layout_mask(container.body(chunk)) if chunk else None
    chunk = container.find(b"fmt ")
    body = container.body(chunk) if chunk else b""
    extensible = int.from_bytes(body[:2], container.dialect.order) == EXTENSIBLE and len(body) >= 40
    return int.from_bytes(body[20:24], container.dialect.order) if extensible else None


def write_mask(part: Path, mask: int, channels: int) -> bool:
    """Write the mask into a WAV, FLAC or CAF file; return whether the file can state it.

    Raises OSError.
    """
    container = read_container(part)
    if container is None:
        return _write_flac_mask(part, mask, channels)
    if container.dialect is CAF:
        return _write_caf_mask(part, container, mask)
    if container.dialect is AIFF:
        return False
    return _write_wav_mask(part, container, mask)


def is_usual(mask: int, channels: int) -> bool:
    """Return whether a file of so many channels means this mask where it says nothing."""
    return FLAC_MASKS.get(channels) == mask


def _flac_mask(path: Path) -> int | None:
    try:
        text = comments_of(read_blocks(path)[2]).get(MASK)
        return int(text, 16) if text else None
    except ValueError:
        return None


def _layout_mask(body: bytes) -> int | None:
    """Return the mask of a channel layout of Core Audio."""
    kind = int.from_bytes(body[:4], "big")
    count = int.from_bytes(body[8:12], "big")
    if kind == BITMAP:
        return int.from_bytes(body[4:8], "big")
    if kind != DESCRIPTIONS:
        return CAF_MASKS.get(kind)
    labels = [
        int.from_bytes(body[at : at + 4], "big")
        for at in range(12, min(len(body), 12 + 20 * count), 20)
    ]
    positions = bool(labels) and max(labels) <= 18 and min(labels) > 0
    if not positions or labels != sorted(set(labels)):
        return None
    return sum(1 << label - 1 for label in labels)


def _write_flac_mask(part: Path, mask: int, channels: int) -> bool:
    if is_usual(mask, channels):
        return True

    def edited(blocks: list[Block]) -> list[Block]:
        old = comments_of(blocks)
        entry = f"{MASK}=0x{mask:04X}".encode()
        block = Block(COMMENT, Comments(old.vendor, [*old.entries, entry]).packed())
        return [blocks[0], block, *(other for other in blocks[1:] if other.kind != COMMENT)]

    try:
        edit_blocks(part, edited)
    except ValueError:
        return False
    return True


def _write_caf_mask(part: Path, container: Container, mask: int) -> bool:
    data = container.find(b"data")
    if data is None or container.find(b"chan"):
        return False
    start = data.at - CAF.head
    body = BITMAP.to_bytes(4, "big") + mask.to_bytes(4, "big") + bytes(4)
    with part.open("r+b") as file:
        replace_bytes(file, start, start, CAF.write(b"chan", body))
    return True


def _write_wav_mask(part: Path, container: Container, mask: int) -> bool:
    dialect = container.dialect
    chunk = container.find(b"fmt ")
    if chunk is None:
        return False
    body = container.body(chunk)
    tag = int.from_bytes(body[:2], dialect.order)
    stated = mask.to_bytes(4, dialect.order)
    if tag == EXTENSIBLE and len(body) >= 40:
        body = body[:20] + stated + body[24:]
    elif tag in PLAIN_TAGS and dialect.order == "little":
        extended = EXTENSIBLE.to_bytes(2, "little")
        body = extended + body[2:16] + b"\x16\x00" + body[14:16] + stated + body[:2] + EXTENSION
    else:
        return False
    end = chunk.at + dialect.padded(chunk.size)
    with part.open("r+b") as file:
        replace_bytes(file, chunk.at - dialect.head, end, dialect.write(b"fmt ", body))
        write_size(file, container)
    return True
