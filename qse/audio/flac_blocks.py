"""Copy the metadata blocks of FLAC files byte by byte: comments, pictures, cue sheet,
application data, padding."""

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import vorbis_comments
from .file_edit import replace_bytes
from .formats import MOST_METADATA
from .id3_frames import tag_size
from .vorbis_comments import Comments

STREAMINFO = 0
APPLICATION = 2
SEEKTABLE = 3
COMMENT = 4
CUESHEET = 5
PICTURE = 6
NAMES = {APPLICATION: "application data", CUESHEET: "cue sheet", PICTURE: "cover"}
MOST_BLOCKS = 4096
STREAM_INFO = 34  # bytes of the first block
LARGEST = 1 << 24  # bytes of a block, and more
LAST = 0x80  # marks the last block before the samples


@dataclass(frozen=True)
class Block:
    """A metadata block: its type and its bytes."""

    kind: int
    body: bytes


def read_blocks(path: Path) -> tuple[int, int, list[Block]]:
    """Return where the first block of a FLAC file begins, where the samples begin, and the blocks.

    Raises ValueError for a file that is damaged or is no FLAC file, and OSError.
    """
    with path.open("rb") as file:
        start = tag_size(file.read(10))
        file.seek(start)
        if file.read(4) != b"fLaC":
            raise ValueError("no FLAC file")
        blocks: list[Block] = []
        total = 0
        while len(head := file.read(4)) == 4:
            size = int.from_bytes(head[1:], "big")
            body = file.read(size)
            total += size
            if len(body) < size or total > MOST_METADATA or len(blocks) == MOST_BLOCKS:
                break
            blocks.append(Block(head[0] & ~LAST, body))
            if head[0] & LAST:
                return start + 4, file.tell(), blocks
    raise ValueError("the metadata have no end")


def read_stream_info(path: Path) -> tuple[bytes, int]:
    """Return the body of the first block, and where the samples begin, whatever the length of the
    metadata. Raises as `read_blocks`."""
    with path.open("rb") as file:
        file.seek(tag_size(file.read(10)))
        if file.read(4) != b"fLaC":
            raise ValueError("no FLAC file")
        info = b""
        for _ in range(MOST_BLOCKS):
            head = file.read(4)
            end = file.tell() + int.from_bytes(head[1:], "big")
            info = info or file.read(STREAM_INFO)
            file.seek(end)
            if len(head) == 4 and head[0] & LAST:
                return info, end
    raise ValueError("the metadata have no end")


def copy_blocks(theirs: list[Block], part: Path) -> list[str]:
    """Replace the metadata of the FLAC file `part` by `theirs`; return the names of what no longer
    holds.

    The vendor string of the comments stays that of the program that wrote `part`. Raises as
    `read_blocks` does.
    """
    dropped: list[str] = []

    def carried(own: list[Block]) -> list[Block]:
        vendor = comments_of(own).vendor
        blocks = [block for block in own if block.kind in (STREAMINFO, SEEKTABLE)]
        for block in theirs:
            if block.kind == COMMENT:
                kept, names = vorbis_comments.parse(block.body).still_true()
                dropped.extend(names)
                blocks.append(Block(COMMENT, Comments(vendor, kept.entries).packed()))
            elif block.kind not in (STREAMINFO, SEEKTABLE):
                blocks.append(block)
        return blocks

    edit_blocks(part, carried)
    return dropped


def blocks_of(comments: Comments) -> tuple[list[Block], list[str]]:
    """Return the blocks of a FLAC file with the comments of an Ogg file, and names of what is
    lost: its pictures are comments in base64."""
    entries = []
    pictures = []
    lost = []
    for entry in _kept(comments):
        if vorbis_comments.name_of(entry) != vorbis_comments.PICTURE:
            entries.append(entry)
            continue
        try:
            body = b64decode(entry.partition(b"=")[2], validate=True)
        except ValueError:
            body = b""
        if 0 < len(body) < LARGEST:
            pictures.append(Block(PICTURE, body))
        else:
            lost.append("cover")
    block = Block(COMMENT, Comments(comments.vendor, entries).packed())
    return [block, *pictures], lost


def comments_with_pictures(blocks: list[Block]) -> tuple[Comments, list[str]]:
    """Return the comments of an Ogg file with those and the pictures of a FLAC file, and names of
    what is lost. Raises ValueError if the comments are damaged."""
    comments = comments_of(blocks)
    entries = _kept(comments)
    lost = []
    for block in blocks:
        if block.kind == PICTURE:
            entries.append(f"{vorbis_comments.PICTURE}=".encode() + b64encode(block.body))
        elif block.kind in NAMES:
            lost.append(NAMES[block.kind])
    return Comments(comments.vendor, entries), list(dict.fromkeys(lost))


def _kept(comments: Comments) -> list[bytes]:
    """Return the entries that hold in another format: without its encoder and channel mask."""
    names = (vorbis_comments.MASK, "ENCODER", "ENCODER_OPTIONS")
    return [entry for entry in comments.entries if vorbis_comments.name_of(entry) not in names]


def edit_blocks(part: Path, edit: Callable[[list[Block]], list[Block]]) -> None:
    """Replace the blocks of the FLAC file `part` by what `edit` returns for them.

    Raises as `read_blocks` does.
    """
    start, end, blocks = read_blocks(part)
    new = edit(blocks)
    data = []
    for number, block in enumerate(new):
        mark = LAST if number == len(new) - 1 else 0
        data += [bytes([block.kind | mark]), len(block.body).to_bytes(3, "big"), block.body]
    with part.open("r+b") as file:
        replace_bytes(file, start, end, b"".join(data))


def comments_of(blocks: list[Block]) -> Comments:
    """Return the comments among `blocks`; none if there is no such block.

    Raises ValueError if it is damaged.
    """
    for block in blocks:
        if block.kind == COMMENT:
            return vorbis_comments.parse(block.body)
    return Comments(b"", [])


def block_names(blocks: list[Block]) -> list[str]:
    """Return names for the metadata of a FLAC file: of its comments, cover, cue sheet.

    Raises ValueError if the comments are damaged.
    """
    names = [name for name in comments_of(blocks).names() if name != vorbis_comments.MASK]
    names += [NAMES[block.kind] for block in blocks if block.kind in NAMES]
    return list(dict.fromkeys(names))
