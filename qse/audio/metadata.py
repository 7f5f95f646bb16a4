"""Give an enhanced file the metadata of its original: byte by byte within a format, mapped between
two.

They are read once, into a short file of the target's format. If that can be read, they go from
there into the enhanced file. What cannot be kept, and what no longer holds, is returned by name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import QseError
from .channel_order import USUAL_MASKS
from .chunk_copy import PLAIN, add_markers
from .chunked import Chunked
from .chunks import TooLong
from .content import inspect
from .copied import Copied
from .formats import Layout
from .inspection import Inspection
from .mapped_metadata import map_metadata, readable_frames
from .private_folder import private_folder
from .reader import AudioReader
from .short_file import SHORT, write_short


def is_copied(source: Inspection, layout: Layout) -> bool:
    """Return whether the metadata of `source` are copied byte by byte into a file with this layout.

    Otherwise they are mapped, for which libsndfile has to write the strings that it knows.
    """
    return layout.family in source.copies_to


def carry(reader: AudioReader, part: Path, layout: Layout, samples: int) -> Copied:
    """Give `part`, a file with this layout, the metadata and channel positions of the file that
    `reader` reads.

    `samples`: samples per channel that were written. Raises OSError, and TooLong for a WAV or AIFF
    file of more than 4 GiB.
    """
    source = reader.inspection
    with private_folder() as folder:
        try:
            if is_copied(source, layout):
                copied = _copy_tried(source, reader, part, layout, samples, folder)
            else:
                copied = map_metadata(source, reader.layout, part, layout, samples, folder)
                _carry_markers(reader, part, copied)
        except ValueError:  # damaged metadata: those that can be named are lost
            copied = _all_lost(source)
    mask = reader.channel_mask if layout.channels == reader.layout.channels else None
    is_lost = source.has_other_positions and mask is None and not is_copied(source, layout)
    if is_lost or not _carry_positions(mask, part, layout.channels):
        copied.lost.append("channel positions")
    return copied


@contextmanager
def long_enough(target: Path, layout: Layout) -> Iterator[None]:
    """Turn TooLong, as of `carry`, into QseError with the name of the target."""
    try:
        yield
    except TooLong:
        form = f"{target}: a {layout.format} file cannot be so long with its metadata"
        raise QseError(f"{form}; name a .rf64 file") from None


def _carry_markers(reader: AudioReader, part: Path, copied: Copied) -> None:
    """Give `part` the markers of a WAV, AIFF or CAF file, if it is another one of these.

    ffmpeg calls them chapters; those that begin at a marker are not lost then.
    """
    source = reader.inspection
    if not isinstance(source, Chunked) or source.container is None:
        return
    target = inspect(part)
    if not isinstance(target, Chunked) or target.container is None:
        return
    markers = add_markers(source.container, target.container)
    if not markers.found:
        return
    places = {marker.at for marker in markers.found}
    chapters = source.media.chapters if source.media else []
    starts = {round(chapter.start * reader.layout.sample_rate) for chapter in chapters}
    kept = (*markers.names, "chapters") if starts <= places else markers.names
    copied.lost = [name for name in copied.lost if name not in kept]


def _copy_tried(
    source: Inspection, reader: AudioReader, part: Path, layout: Layout, samples: int, folder: Path
) -> Copied:
    """Copy metadata byte by byte, unless they are so damaged that the file could not be read."""
    same_coding = _is_coded_alike(reader, layout)
    short = folder / "short"
    write_short(short, layout)
    frames = readable_frames(short)
    copied = source.copy_into(inspect(short), same_coding, frames or SHORT)
    if readable_frames(short) != frames:
        return _all_lost(source)
    inspect(short).copy_into(inspect(part), same_coding, samples)
    return copied


def _all_lost(source: Inspection) -> Copied:
    return Copied(lost=source.names() or ["all metadata"])


def _is_coded_alike(reader: AudioReader, layout: Layout) -> bool:
    """Return whether the format chunk of the source holds for a file with this layout."""
    original = reader.layout
    same = (original.subtype, original.endian) == (layout.subtype, layout.endian)
    same = same and original.channels == layout.channels
    return same and original.subtype in PLAIN and reader.media is None


def _carry_positions(mask: int | None, part: Path, channels: int) -> bool:
    """Write the channel mask into `part`; return whether that means these positions then."""
    written = inspect(part)
    if mask is None or written.channel_mask == mask:
        return True
    return written.state_mask(mask, channels) or USUAL_MASKS.get(channels) == mask
