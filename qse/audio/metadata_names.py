"""Name the metadata that ffprobe finds in a file, and those that the file made from it lacks."""

import re
from collections.abc import Iterable

from .chapters import same_chapters
from .dates import TIME, same_moment
from .inspection import Inspection
from .loudness import is_loudness
from .probe import Media
from .subtitles import lost_subtitles

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
    "itunsmpb",  # samples that the encoder added
)


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


def texts_of(media: Media | None) -> set[str]:
    """Return the texts of the tags that ffprobe finds in a file."""
    return set(map(str.strip, media.tags.values())) if media else set()


def lost_names(media: Media, result: Media | None) -> list[str]:
    """Return the names of what ffprobe finds in a file and not in the one made from it."""
    kept = list(tags_of(result).values()) if result else []
    return [*lost_tags(media, kept), *lost_parts(media, result)]


def repeated(source: Inspection) -> list[str]:
    """Return names for what is lost of tags with several values, which ffmpeg makes one text."""
    return [f"several values of {name}" for name in source.repeated()]


def lost_beside(source: Inspection, made: Inspection) -> list[str]:
    """Return names for what ffmpeg does not read of the metadata of a file, and is not in the one
    made from it."""
    kept = [*made.names_beside_tags(made.names()), *repeated(made)]
    found = [*source.names_beside_tags(source.names()), *repeated(source)]
    return [name for name in found if name not in kept]


def lost_tags(media: Media, kept: Iterable[str]) -> list[str]:
    """Return the names of the tags whose texts are not in `kept`; for those of loudness there is
    another message."""
    held = {"", *map(str.strip, kept)}
    lost = []
    for name, text in tags_of(media).items():
        if not is_loudness(name) and not _is_held(name.lower(), text.strip(), held):
            lost.append(name)
    return lost


def _is_held(name: str, text: str, held: set[str]) -> bool:
    """Return whether a text is among others; times and places may be written in another way."""
    if text in held:
        return True
    if name == TIME:
        return any(same_moment(text, other) for other in held)
    return name.startswith("location") and _place(text) in map(_place, held)


def _place(text: str) -> tuple[float, ...]:
    """Return latitude and longitude of a place (ISO 6709), to about 100 m."""
    numbers = re.findall(r"[+-]\d+(?:\.\d+)?", text)[:2]
    return tuple(round(float(number), 3) for number in numbers)


def lost_parts(media: Media, result: Media | None) -> list[str]:
    """Return which parts of a file are not whole in the one made from it."""
    lost = []
    if media.covers > (result.covers if result else 0):
        lost.append("cover")
    if not same_chapters(media.chapters, result.chapters if result else []):
        lost.append("chapters")
    lost += lost_subtitles(media.subtitles, result.subtitles if result else ())
    if media.attachments > (result.attachments if result else 0):
        lost.append("attachments")
    if media.data > (result.data if result else 0):
        lost.append("data track")
    return lost
