"""Find whether the chunks of an MP4 file lie where they can: ffmpeg reads from wherever the tables
of the file point to, without a word."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

import numpy as np

from .mp4_items import MOST_TABLE, Atom, among, atoms, body_of, inner
from .mp4_times import is_sound

HOLDER = b"mdat"  # of samples
SAMPLES = (b"mdia", b"minf", b"stbl")  # the way to the tables of a track
REFERENCES = (b"mdia", b"minf", b"dinf", b"dref")


def chunk_fault(file: IO[bytes]) -> str | None:
    """Return in words what is wrong with the chunks of an open file, None if nothing is. Raises
    OSError."""
    whole = list(atoms(file, 0, file.seek(0, 2)))
    try:
        found = [
            chunks for movie in whole if movie.name == b"moov" for chunks in chunks_of(file, movie)
        ]
    except ValueError:
        return "the tables of its sound state different numbers of samples"
    is_wrong = _are_misplaced(found, whole)
    return "pieces of its sound lie one over another, or among other data" if is_wrong else None


def ends_early(file: IO[bytes], index: int) -> bool:
    """Return whether a track, by its number among all, reaches behind the end of an open file.
    Raises OSError."""
    size = file.seek(0, 2)
    try:
        movie = inner(file, Atom(b"", 0, 0, size), b"moov")
        chunks = _of_track(file, list(among(file, movie, b"trak"))[index])
    except (struct.error, IndexError, ValueError):
        return False
    return bool((chunks.sum(1) > size).any())


def _are_misplaced(found: list[np.ndarray], whole: list[Atom]) -> bool:
    """Return whether chunks overlap in part, reach across the end of an atom, or lie in one that
    holds no samples. found: those of each track. whole: the atoms of the file."""
    if not found:
        return False
    chunks = np.unique(np.concatenate(found), axis=0)  # sorted; one that is named twice once
    begins = chunks[:, 0]
    ends = begins + chunks[:, 1]
    if (begins[1:] < np.maximum.accumulate(ends)[:-1]).any():
        return True
    starts = np.array([atom.start for atom in whole])
    limits = np.array([atom.end for atom in whole])
    is_free = np.array([atom.name != HOLDER for atom in whole])
    is_there = begins < limits[-1]  # not behind what is left of a file that was cut
    place = np.searchsorted(starts, begins[is_there], "right") - 1
    is_wrong = (place < 0) | (ends[is_there] > limits[place]) | is_free[place]
    return bool(is_wrong.any())


def chunks_of(file: IO[bytes], movie: Atom) -> Iterator[np.ndarray]:
    """Yield the chunks of each track whose tables are complete: (offset, bytes) each. Raises
    ValueError for a sound track whose tables contradict each other."""
    for track in among(file, movie, b"trak"):
        try:
            is_heard = is_sound(file, track)
            chunks = _of_track(file, track)
        except (struct.error, IndexError):
            continue
        except ValueError:
            if is_heard:
                raise
            continue
        if len(chunks):
            yield chunks


def _of_track(file: IO[bytes], track: Atom) -> np.ndarray:
    """Return the chunks of a track, none if they lie in another file. Raises IndexError where a
    table is missing or too long, ValueError where they contradict each other."""
    references = body_of(file, inner(file, track, *REFERENCES))
    tables = inner(file, track, *SAMPLES)
    offsets = _offsets(file, tables)
    runs = _table(_whole(file, tables, b"stsc"), ">u4", 3)
    is_here = len(references) >= 20 and references[19] & 1
    if not is_here or not len(offsets) or not len(runs):
        return np.zeros((0, 2), np.int64)
    if runs[0, 0] != 1:
        raise ValueError
    lengths = np.diff(np.append(runs[:, 0], len(offsets) + 1))
    counts = np.repeat(runs[:, 1], lengths)  # of samples in each chunk
    sizes = _whole(file, tables, b"stsz")
    size, count = np.frombuffer(sizes, ">u4", 2, 4).astype(np.int64)
    behind = np.cumsum(counts)
    if behind[-1] != count:
        raise ValueError
    if size:
        return np.stack([offsets, counts * size], 1)
    total = np.append(0, np.cumsum(np.frombuffer(sizes, ">u4", count, 12).astype(np.int64)))
    return np.stack([offsets, total[behind] - total[behind - counts]], 1)


def _offsets(file: IO[bytes], tables: Atom) -> np.ndarray:
    """Return where the chunks of a track begin."""
    names = [atom.name for atom in atoms(file, tables.start, tables.end)]
    if b"co64" in names:
        return _table(_whole(file, tables, b"co64"), ">u8", 1)[:, 0]
    return _table(_whole(file, tables, b"stco"), ">u4", 1)[:, 0]


def _whole(file: IO[bytes], tables: Atom, name: bytes) -> bytes:
    """Return the body of a table. Raises IndexError where it is missing or too long."""
    body = body_of(file, inner(file, tables, name))
    if len(body) == MOST_TABLE:
        raise IndexError
    return body


def _table(body: bytes, form: str, columns: int) -> np.ndarray:
    """Return the rows of a table, behind its version and count. Raises ValueError."""
    count = int.from_bytes(body[4:8], "big")
    return np.frombuffer(body, form, count * columns, 8).astype(np.int64).reshape(-1, columns)
