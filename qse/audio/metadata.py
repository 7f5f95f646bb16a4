"""Give an enhanced file the metadata of its original: byte by byte within a format, mapped between
two.

They are read once, into a short file of the target's format. If that can be read, they go from
there into the enhanced file. What cannot be kept, and what no longer holds, is returned by name.
"""

from pathlib import Path

from .channel_mask import is_usual, read_mask, write_mask
from .chunk_copy import PLAIN, Copied, copy_chunks
from .chunks import read_container
from .content import family_of
from .flac_blocks import copy_blocks
from .formats import Layout
from .id3 import copy_tags
from .mapped_metadata import map_metadata
from .metadata_names import mapped_names
from .ogg_comments import copy_comments
from .private_folder import private_folder
from .reader import AudioReader
from .short_file import SHORT, readable_frames, write_short

# families whose metadata are copied byte by byte
COPIED = (
    "WAV",
    "AIFF",
    "CAF",
    "FLAC",
    "Ogg",
    "MP3",
)


def is_copied(source: Path, layout: Layout) -> bool:
    """Return whether the metadata of `source` are copied byte by byte into a file with this layout.

    Otherwise they are mapped, for which libsndfile has to write the strings that it knows. Raises
    OSError.
    """
    family = family_of(source)
    return family in COPIED and family == layout.family


def carry(source: Path, reader: AudioReader, part: Path, layout: Layout, samples: int) -> Copied:
    """Give `part`, a file with this layout, the metadata and channel positions of `source`, which
    `reader` reads.

    `samples`: samples per channel that were written. Raises OSError, and TooLong for a WAV or AIFF
    file of more than 4 GiB.
    """
    with private_folder() as folder:
        try:
            if is_copied(source, layout):
                copied = _copy_tried(source, reader, part, layout, samples, folder)
            else:
                copied = map_metadata(source, reader, part, layout, samples, folder)
        except ValueError:  # damaged metadata: those that can be named are lost
            copied = _all_lost(source)
    _carry_positions(reader.channel_mask, part, layout, copied)
    return copied


def _copy_tried(
    source: Path, reader: AudioReader, part: Path, layout: Layout, samples: int, folder: Path
) -> Copied:
    """Copy metadata byte by byte, unless they are so damaged that the file could not be read."""
    same_coding = _is_coded_alike(reader, layout)
    short = folder / "short"
    write_short(short, layout)
    frames = readable_frames(short)
    copied = _copy(source, short, layout, same_coding, frames or SHORT)
    if readable_frames(short) != frames:
        return _all_lost(source)
    _copy(short, part, layout, same_coding, samples)
    return copied


def _all_lost(source: Path) -> Copied:
    return Copied(lost=mapped_names(source) or ["all metadata"])


def _is_coded_alike(reader: AudioReader, layout: Layout) -> bool:
    """Return whether the format chunk of the source holds for a file with this layout."""
    original = reader.layout
    same = (original.subtype, original.endian) == (layout.subtype, layout.endian)
    return same and original.subtype in PLAIN and reader.media is None


def _copy(source: Path, part: Path, layout: Layout, same_coding: bool, samples: int) -> Copied:
    family = layout.family
    if family == "FLAC":
        return Copied(dropped=copy_blocks(source, part) + copy_tags(source, part))
    if family == "Ogg":
        return Copied(dropped=copy_comments(source, part))
    if family == "MP3":
        return Copied(dropped=copy_tags(source, part))
    return copy_chunks(source, part, same_coding, samples)


def _carry_positions(mask: int | None, part: Path, layout: Layout, copied: Copied) -> None:
    if mask is None or read_mask(part) == mask:
        return
    holds = read_container(part) is not None or layout.format == "FLAC"
    if not (holds and write_mask(part, mask, layout.channels)) and not is_usual(
        mask, layout.channels
    ):
        copied.lost.append("channel positions")
