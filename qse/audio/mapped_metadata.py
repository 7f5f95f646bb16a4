"""Map the metadata of a file to those of another format, with ffmpeg where it is installed.

ffmpeg copies the metadata into a short file of the target's format, from which they are copied byte
by byte: so the samples of the target are those that libsndfile wrote. Without ffmpeg, the target
has the strings of libsndfile.
"""

from dataclasses import replace
from itertools import filterfalse
from pathlib import Path

from .chapters import chapter_options, timed
from .chunk_copy import Copied, copy_chunks
from .content import family_of, kind_of
from .ffmpeg_input import input_file, is_installed
from .ffmpeg_process import write_file
from .flac_blocks import copy_blocks
from .formats import Layout, native
from .id3 import copy_tags
from .loudness import is_loudness
from .metadata_names import (
    TECHNICAL,
    lost_names,
    lost_parts,
    lost_tags,
    mapped_names,
    tags_of,
    without_tag,
)
from .ogg_comments import copy_comments, read_headers, write_entries
from .probe import Media, probe
from .reader import AudioReader
from .short_file import SHORT, write_short

MUXERS = {"WAV": "wav", "AIFF": "aiff", "FLAC": "flac", "MP3": "mp3", "Ogg": "ogg", "CAF": "caf"}
WITH_COVER = ("FLAC", "MP3", "AIFF")
STRINGS = {  # of libsndfile: the names under which formats hold them
    "title": ("TITLE", "TIT2"),
    "artist": ("ARTIST", "TPE1"),
    "album": ("ALBUM", "TALB"),
    "comment": ("COMMENT", "COMM"),
    "date": ("DATE", "TDRC", "TYER"),
    "genre": ("GENRE", "TCON"),
    "tracknumber": ("TRACKNUMBER", "TRCK"),
    "copyright": ("COPYRIGHT", "TCOP"),
    "license": ("LICENSE",),
    "software": ("SOFTWARE", "ENCODER", "TSSE", "TENC"),
}


def map_metadata(
    source: Path, reader: AudioReader, part: Path, layout: Layout, samples: int, folder: Path
) -> Copied:
    """Give `part`, a file with this layout, what its format can hold of the metadata of `source`.

    reader: of `source`. samples: samples per channel of `part`. folder: for temporary files.
    Raises OSError.
    """
    names = mapped_names(source)
    if _has_none(source, names):
        return Copied()
    origin = readable_by_ffmpeg(source, reader.layout, folder)
    media = reader.media or probe(origin)
    unread = without_tag(source, names)
    if media is None or needs_strings(layout):
        return _by_strings(part, media, names, unread)
    dropped = list(filter(is_loudness, tags_of(media)))

    short = folder / "short"
    mapped = folder / "mapped"
    write_short(short, _mappable(layout))
    options = [*input_file(short), *input_file(origin)]
    options += chapter_options(media.chapters, 1, 2, folder)
    options += _options(media, layout.family, dropped)
    if write_file([*options, "-f", MUXERS[layout.family]], mapped).status:
        return _by_strings(part, media, names, unread)
    _take(mapped, part, layout, media, samples)
    return Copied([*lost_names(media, probe(mapped)), *unread], dropped)


def readable_by_ffmpeg(source: Path, layout: Layout, folder: Path) -> Path:
    """Return a file with the metadata of `source` that ffmpeg reads.

    That is `source`, but for W64, in which ffmpeg does not look for tags, a short WAV file in
    `folder`. layout: of `source`. Raises OSError.
    """
    if kind_of(source) != "W64":
        return source
    origin = folder / "origin.wav"
    write_short(origin, replace(layout, format="WAV"))
    copy_chunks(source, origin, same_coding=False, samples=SHORT)
    return origin


def _has_none(source: Path, names: list[str]) -> bool:
    """Return whether a file certainly has no metadata, which is cheaper to find out than what
    ffprobe says."""
    if family_of(source) not in MUXERS:
        return False
    return all(name.lower() in TECHNICAL for name in names)


def needs_strings(layout: Layout) -> bool:
    """Return whether libsndfile has to write the tags of a file with this layout, because ffmpeg
    does not map them."""
    return layout.family not in MUXERS or not is_installed()


def _mappable(layout: Layout) -> Layout:
    """Return a layout with the same form of metadata that ffmpeg can copy; into Opus alone it
    writes chapters."""
    if layout.family == "WAV":
        return replace(layout, format="WAV", subtype="PCM_16", endian="FILE")
    if layout.family == "Ogg":
        return replace(layout, subtype="OPUS", sample_rate=48000, channels=1, settings={})
    return layout


def _options(media: Media, family: str, dropped: list[str]) -> list[str]:
    """Return what ffmpeg maps from its second input into its first."""
    options = ["-map", "0:a", "-c", "copy", "-fflags", "+bitexact", "-copyts"]
    options += ["-map_metadata", "1" if media.tags else "1:s:a:0"]
    options += (
        ["-map_metadata:s:a:0", "-1"]
        if family != "Ogg"
        else ["-map_metadata:s:a:0", _tag_place(media)]
    )
    if family in WITH_COVER and media.covers:
        options += ["-map", "1:v", "-disposition:v", "attached_pic"]
    if family == "AIFF":
        options += ["-write_id3v2", "1"]
    for name in dropped:
        options += ["-metadata", f"{name}="]
    return options


def _tag_place(media: Media) -> str:
    return "1:g" if media.tags else "1:s:a:0"


def _take(mapped: Path, part: Path, layout: Layout, media: Media, samples: int) -> None:
    """Copy the metadata of the short file."""
    if layout.family == "FLAC":
        copy_blocks(mapped, part)
    elif layout.family == "Ogg":
        write_entries(mapped, timed(read_headers(mapped).comments.entries, media.chapters))
        copy_comments(mapped, part)
    elif layout.family == "MP3":
        copy_tags(mapped, part)
    else:
        copy_chunks(mapped, part, False, samples, leave=(b"chan", b"CHAN"))


def _by_strings(part: Path, media: Media | None, names: list[str], unread: list[str]) -> Copied:
    """Name what is lost where libsndfile has written its strings into `part`.

    names: of the metadata of the source. unread: those among them that are no tags.
    """
    import soundfile

    try:
        with soundfile.SoundFile(native(part)) as file:
            held = file.copy_metadata()
    except soundfile.SoundFileError:
        held = {}
    if media:
        dropped = list(filter(is_loudness, tags_of(media)))
        lost = [*lost_tags(media, held.values()), *lost_parts(media, None), *unread]
        return Copied(lost, dropped)
    kept = set[str]()
    for string in held:
        kept.update(STRINGS.get(string, ()))
    if held:
        kept |= {"INFO", "info", "NAME", "AUTH", "ANNO", "(c)"}
    gone = [name for name in names if name not in kept and name.lower() not in TECHNICAL]
    return Copied(list(filterfalse(is_loudness, gone)), list(filter(is_loudness, gone)))
