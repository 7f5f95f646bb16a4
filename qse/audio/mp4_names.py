"""Read names of tracks that ffmpeg writes into MP4 and does not read: the atoms name in udta."""

from collections.abc import Sequence
from dataclasses import replace
from typing import IO

from .mp4_items import Atom, among, inner
from .mp4_tracks import SOUND
from .probe import Media
from .tag_texts import from_bytes

PICTURE = b"vide"
TEXTS = (b"sbtl", b"subt", b"text", b"clcp")  # kinds of subtitles
MOST = 1 << 10  # bytes of a name


def track_names(file: IO[bytes]) -> list[tuple[bytes, str]]:
    """Return the kind and the name of each track of an open file, "" without one. Raises
    OSError."""
    found = []
    for movie in among(file, Atom(b"", 0, 0, file.seek(0, 2)), b"moov"):
        for track in among(file, movie, b"trak"):
            name = _begin(file, track, b"udta", b"name").rstrip(b"\0")
            found.append((_begin(file, track, b"mdia", b"hdlr")[8:12], from_bytes(name)))
    return found


def _begin(file: IO[bytes], track: Atom, *way: bytes) -> bytes:
    """Return the first bytes of the atom at the end of a way, none without it."""
    try:
        atom = inner(file, track, *way)
    except IndexError:
        return b""
    file.seek(atom.start)
    return file.read(min(atom.end - atom.start, MOST))


def with_names(media: Media, names: Sequence[tuple[bytes, str]]) -> Media:
    """Return what ffprobe has found with the names of tracks that it has not."""
    sounds = [name for kind, name in names if kind == SOUND]
    pictures = [name for kind, name in names if kind == PICTURE]
    texts = [name for kind, name in names if kind in TEXTS]
    known = _filled(tuple(track.name for track in media.tracks), sounds)
    pairs = zip(media.tracks, known, strict=True)
    return replace(
        media,
        tracks=[replace(track, name=name) for track, name in pairs],
        picture_names=_filled(media.picture_names, pictures),
        subtitle_names=_filled(media.subtitle_names, texts),
    )


def _filled(known: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    """Return the known names with others in place of empty ones, if there are as many."""
    if len(known) != len(names):
        return known
    return tuple(name or other for name, other in zip(known, names, strict=True))
