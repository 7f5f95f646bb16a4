"""Name the metadata of a file: those that it has, and those that the file made from it lacks."""

from collections.abc import Iterable
from pathlib import Path

from .chapters import same_chapters
from .chunk_copy import chunk_names
from .containers import has_annotation
from .content import family_of
from .flac_blocks import block_names
from .id3 import frame_names
from .loudness import is_loudness
from .ogg_comments import read_headers
from .probe import Media
from .vorbis_comments import PICTURE

TECHNICAL = (
    "encoder",
    "major_brand",
    "minor_version",
    "compatible_brands",
    "handler_name",
    "vendor_id",
    "duration",
    "bps",
    "number_of_frames",
    "number_of_bytes",
    "waveformatextensible_channel_mask",
    "language",
)
READ_AS_TAGS = ("INFO", "bext", "id3", "ID3", "NAME", "AUTH", "ANNO", "(c)", "info", "chan", "CHAN")
WITHOUT_TAG = {  # family: names of metadata that ffmpeg does not read as tags
    "FLAC": ("cue sheet", "application data"),
    "MP3": (
        "GEOB",
        "POPM",
        "PCNT",
        "SYLT",
        "UFID",
        "ETCO",
        "MCDI",
        "SYTC",
        "COMR",
        "ENCR",
        "OWNE",
        "USER",
    ),
    "Ogg": (),
}


def mapped_names(path: Path) -> list[str]:
    """Return names for the metadata of a file, by its own blocks, chunks or frames.

    Raises OSError.
    """
    family = family_of(path)
    try:
        if family == "FLAC":
            return [*block_names(path), *frame_names(path)]
        if family == "Ogg":
            found: dict[str, None] = {}
            for name in read_headers(path).comments.names():
                marked = "chapters" if name[:7] == "CHAPTER" else name
                found["cover" if name == PICTURE else marked] = None
            return list(found)
    except ValueError:
        return []
    if family == "AU":
        return ["annotation"] if has_annotation(path) else []
    return frame_names(path) if family == "MP3" else chunk_names(path)


def without_technical(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags that a person wrote: without those in which ffmpeg states properties of
    the file."""
    kept = {}
    for name, text in tags.items():
        is_technical = name.lower().partition("-")[0] in TECHNICAL
        if not is_technical and not name.startswith("_STATISTICS"):
            kept[name] = text
    return kept


def tags_of(media: Media) -> dict[str, str]:
    """Return the tags of a file; in Ogg they are those of its first track."""
    track = media.tracks[0].tags if media.tracks else {}
    return without_technical(media.tags or track)


def lost_names(media: Media, result: Media | None) -> list[str]:
    """Return the names of what ffprobe finds in a file and not in the one made from it."""
    kept = list(tags_of(result).values()) if result else []
    return [*lost_tags(media, kept), *lost_parts(media, result)]


def lost_tags(media: Media, kept: Iterable[str]) -> list[str]:
    """Return the names of the tags whose texts are not in `kept`; for those of loudness there is
    another message."""
    held = {"", *map(str.strip, kept)}
    lost = []
    for name, text in tags_of(media).items():
        if text.strip() not in held and not is_loudness(name):
            lost.append(name)
    return lost


def lost_parts(media: Media, result: Media | None) -> list[str]:
    """Return which parts of a file are not whole in the one made from it."""
    lost = []
    if media.covers > (result.covers if result else 0):
        lost.append("cover")
    if not same_chapters(media.chapters, result.chapters if result else []):
        lost.append("chapters")
    if media.attachments > (result.attachments if result else 0):
        lost.append("attachments")
    if media.data > (result.data if result else 0):
        lost.append("data track")
    return lost


def without_tag(source: Path, names: list[str]) -> list[str]:
    """Return those among the names of the metadata of `source` that ffmpeg does not read as tags,
    chapters or cover."""
    family = family_of(source)
    if family in WITHOUT_TAG:
        return [name for name in names if name in WITHOUT_TAG[family]]
    unread = [name for name in names if name not in READ_AS_TAGS]
    if "id3" in names and ("INFO" in names or "bext" in names):  # whose tags ffmpeg takes instead
        unread.append("id3")
    return unread
