"""Find tracks of an MP4 file that ffmpeg would leave out, or read as another kind, without a word,
because an atom that leads to them is damaged."""

from typing import IO

from .mp4_items import Atom, among, atoms, body_of

# what each atom that holds others must hold, beside those that vary
HELD = {
    b"moov": (b"mvhd",),
    b"trak": (b"tkhd", b"mdia"),
    b"mdia": (b"mdhd", b"hdlr", b"minf"),
    b"minf": (b"stbl",),
    b"stbl": (b"stsd", b"stts", b"stsc"),
}
SOUND = b"soun"  # the kind of a track, by its handler
HEADER = b"smhd"  # of a track of sound
SLOPPY = 8  # bytes at the end of an atom that may be no atom


def track_fault(file: IO[bytes]) -> str | None:
    """Return in words that a track of an open file is damaged, None if none is. Raises OSError."""
    for movie in among(file, Atom(b"", 0, 0, file.seek(0, 2)), b"moov"):
        is_whole = _is_whole(file, movie)
        for atom in atoms(file, movie.start, movie.end):
            if atom.name == b"trak":
                is_whole = is_whole and _is_whole(file, atom) and _is_of_its_kind(file, atom)
            elif any(among(file, atom, b"tkhd")):  # a track under another name
                is_whole = False
        if not is_whole:
            return "a track of it is damaged, or the table of all tracks"
    return None


def _is_whole(file: IO[bytes], holder: Atom) -> bool:
    """Return whether an atom holds what it must, and nothing that is no atom."""
    held = list(atoms(file, holder.start, holder.end))
    names = [atom.name for atom in held]
    behind = holder.end - (held[-1].end if held else holder.start)
    if behind > SLOPPY or not set(HELD[holder.name]) <= set(names):
        return False
    inner = [atom for atom in held if atom.name in HELD and atom.name != b"trak"]
    return all(_is_whole(file, atom) for atom in inner)


def _is_of_its_kind(file: IO[bytes], track: Atom) -> bool:
    """Return whether a whole track is one of sound by its handler if it is by its header."""
    media = next(among(file, track, b"mdia"))
    info = next(among(file, media, b"minf"))
    try:
        kind = body_of(file, next(among(file, media, b"hdlr")))[8:12]
    except IndexError:
        return False
    return kind == SOUND or not any(among(file, info, HEADER))
