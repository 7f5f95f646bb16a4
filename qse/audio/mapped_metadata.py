"""Map the metadata of a file to those of another format, with ffmpeg where it is installed.

ffmpeg copies the metadata into a short file of the target's format, from which they are copied byte
by byte: so the samples of the target are those that libsndfile wrote. Without ffmpeg, the target
has the strings of libsndfile.
"""

from itertools import filterfalse
from pathlib import Path

from .chapters import chapter_options
from .content import family_named, inspect
from .copied import Copied
from .dates import date_options
from .ffmpeg_input import input_file, is_installed
from .ffmpeg_process import write_file
from .formats import Layout, native
from .inspection import Inspection
from .loudness import is_loudness
from .metadata_names import TECHNICAL, lost_names, lost_parts, lost_tags, repeated, tags_of
from .probe import Media
from .short_file import write_short
from .tag_texts import recoded_options

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
    source: Inspection, original: Layout, part: Path, layout: Layout, samples: int, folder: Path
) -> Copied:
    """Give `part`, a file with this layout, what its format can hold of the metadata of `source`.

    original: layout of `source`. samples: samples per channel of `part`. folder: for temporary
    files. Raises OSError.
    """
    names = source.names()
    if source.muxer and all(name.lower() in TECHNICAL for name in names):
        return Copied()  # there is nothing that ffprobe could find
    origin = source.readable_by_ffmpeg(original, folder)
    media = origin.media
    unread = source.names_beside_tags(names)
    target = family_named(layout.family)
    if media is None or needs_strings(layout):
        return _by_strings(part, media, names, unread)

    dropped = list(filter(is_loudness, tags_of(media)))
    short = folder / "short"
    mapped = folder / "mapped"
    write_short(short, target.mappable(layout))
    options = [*input_file(short), *input_file(origin.path)]
    options += chapter_options(media.chapters, 2, folder)
    options += _options(media, target, dropped)
    if write_file([*options, "-f", target.muxer or ""], mapped).status:
        return _by_strings(part, media, names, unread)
    if readable_frames(mapped) is None:  # as with texts that are too long for libsndfile
        return _by_strings(part, media, names, unread)
    made = inspect(mapped)
    made.copy_mapped_into(inspect(part), media, samples)
    return Copied([*lost_names(media, made.media), *unread, *repeated(source)], dropped)


def readable_frames(path: Path) -> int | None:
    """Return the samples per channel that libsndfile finds in a file, None if it is damaged."""
    import soundfile

    found = inspect(path)
    try:
        with soundfile.SoundFile(native(path)) as file:
            return None if found.is_cut(file) else found.samples(file)
    except soundfile.SoundFileError:
        return None


def needs_strings(layout: Layout) -> bool:
    """Return whether libsndfile has to write the tags of a file with this layout, because ffmpeg
    does not map them."""
    return family_named(layout.family).muxer is None or not is_installed()


def _options(media: Media, target: type[Inspection], dropped: list[str]) -> list[str]:
    """Return what ffmpeg maps from its second input into its first, a file of the family
    `target`."""
    options = ["-map", "0:a", "-c", "copy", "-fflags", "+bitexact", "-copyts"]
    options += ["-map_metadata", "1" if media.tags else "1:s:a:0"]
    options += target.mapping_options("1:g" if media.tags else "1:s:a:0")
    options += recoded_options(media.recoded)
    if target.holds_cover and media.covers:
        options += ["-map", "1:v", "-disposition:v", "attached_pic"]
        for number in range(media.covers):  # whose types are tags of theirs
            options += [f"-map_metadata:s:v:{number}", f"1:s:v:{number}"]
    for name in dropped:
        options += ["-metadata", f"{name}="]
    if target.family == "Ogg":  # whose tags are those of the track
        options += date_options(media.tags, "-metadata:s:a:0")
        options += recoded_options(media.recoded, "-metadata:s:a:0")
    return [*options, *date_options(media.tags)]


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
