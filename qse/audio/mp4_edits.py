"""Read the edit list of a track of an MP4 file: ffmpeg ignores one that is damaged."""

import struct
from typing import IO

from .mp4_items import Atom, among, atoms, body_of

EDIT = {0: struct.Struct(">Iihh"), 1: struct.Struct(">Qqhh")}  # length, begin, rate; by version
HOLDER = b"edts"
LIST = b"elst"
HEAD = 8  # bytes of version and count

Edits = tuple[tuple[int, int, int], ...]  # length, begin and rate of each


def edits_of(file: IO[bytes], track: Atom) -> Edits | None:
    """Return the edits of a track, none without a list; None for a list that is damaged. Raises
    OSError."""
    for atom in atoms(file, track.start, track.end):
        if atom.name == HOLDER:
            return _listed(file, atom)
        if any(among(file, atom, LIST)):  # in an atom with another name
            return None
    return ()


def _listed(file: IO[bytes], holder: Atom) -> Edits | None:
    found = next(among(file, holder, LIST), None)
    if found is None or found.end != holder.end:
        return None if holder.end > holder.start else ()
    try:
        body = body_of(file, found)
    except IndexError:
        return None
    form = EDIT[min(body[0], 1)]
    count = int.from_bytes(body[4:HEAD], "big")
    if HEAD + count * form.size != len(body):
        return None
    return tuple((length, begin, rate) for length, begin, rate, _ in form.iter_unpack(body[HEAD:]))
