"""Compare the fragments of an MP4 file with the samples that are there: ffmpeg leaves out, or reads
as sound, what a damaged table of a fragment names, without a word."""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from .mp4_chunks import chunks_of
from .mp4_fragment_times import FragmentTrack, fragment_tracks
from .mp4_items import Atom, among, atoms, body_of, inner

# bits of the flags of `tfhd`
BASE = 0x1
DESCRIPTION, DURATION, SIZE, FLAGS = 0x2, 0x8, 0x10, 0x20  # four bytes each, in this order
FROM_FRAGMENT = 0x20000
# bits of the flags of `trun`: of the run, and of each sample
OFFSET, FIRST_FLAGS = 0x1, 0x4
COLUMNS = (0x100, 0x200, 0x400, 0x800)  # duration, size, flags, offset of the time
DURATIONS, SIZES = COLUMNS[:2]
PAGE = 4096  # bytes
OPEN = (b"mdat", b"free", b"skip")  # atoms that may go on up to the end, without a size


@dataclass
class Fragments:
    """Read the fragments of an open file. `runs`: begin and bytes of the samples of each run.
    `zeros`: bytes behind the last atom."""

    file: IO[bytes]
    runs: list[tuple[int, int]] = field(default_factory=list)
    zeros: int = 0
    _tracks: dict[int, FragmentTrack] = field(default_factory=dict)  # by their numbers

    def damage(self) -> str | None:
        """Return in words what is damaged, None if nothing is or the file has no fragments. Raises
        OSError."""
        length = self.file.seek(0, 2)
        whole = list(atoms(self.file, 0, length))
        movie = next((atom for atom in whole if atom.name == b"moov"), None)
        fragments = [atom for atom in whole if atom.name == b"moof"]
        if movie is None or not (fragments or any(among(self.file, movie, b"mvex"))):
            return None
        if whole[-1].end < length or self._is_blank(whole[-1]):
            return "its end is missing, or the size of a fragment is damaged"
        if not fragments:
            return None
        try:
            self._tracks = fragment_tracks(self.file, movie)
            for atom in fragments:
                self._fragment(atom)
        except (struct.error, IndexError, KeyError, ValueError):
            return "a table of a fragment is damaged"
        if not self._fill([atom for atom in whole if atom.name == b"mdat"], movie):
            return "its fragments name other places than those of the samples"
        if any(track.is_displaced for track in self._tracks.values()):
            return "a fragment states another time than those beside it"
        return None

    def _is_blank(self, last: Atom) -> bool:
        """Return whether the last atom has no size, which one with samples may leave open, and is
        more than some zeros that fill a page, which are counted."""
        self.file.seek(last.at)
        data = self.file.read(PAGE)
        if any(data[:4]) or last.name in OPEN:
            return False
        self.zeros = last.end - last.at
        return self.zeros >= PAGE or any(data)

    def _fragment(self, fragment: Atom) -> None:
        begin = fragment.at
        for track in among(self.file, fragment, b"traf"):
            begin = self._track(track, fragment.at, begin)

    def _track(self, track: Atom, fragment: int, behind: int) -> int:
        """Add the runs of a track; return where the last one ends. behind: where that of the track
        before ends."""
        body = body_of(self.file, inner(self.file, track, b"tfhd"))
        flags = int.from_bytes(body[1:4], "big")
        known = self._tracks[int.from_bytes(body[4:8], "big")]
        defaults = {DURATION: known.duration, SIZE: known.size}
        at = 8
        base = fragment if flags & FROM_FRAGMENT else behind
        if flags & BASE:
            base = int.from_bytes(body[8:16], "big")
            at = 16
        for flag in (DESCRIPTION, DURATION, SIZE, FLAGS):
            if flags & flag and flag in defaults:
                defaults[flag] = int.from_bytes(body[at : at + 4], "big")
            at += 4 * bool(flags & flag)
        if at != len(body):
            raise ValueError
        end = base
        for atom in atoms(self.file, track.start, track.end):
            if atom.name == b"tfdt":
                known.begin(body_of(self.file, atom))
            elif atom.name == b"trun":
                body = body_of(self.file, atom)
                end = self._run(body, base, end, defaults, known)
        return end

    def _run(
        self, body: bytes, base: int, end: int, defaults: dict[int, int], track: FragmentTrack
    ) -> int:
        flags = int.from_bytes(body[1:4], "big")
        count = int.from_bytes(body[4:8], "big")
        at = 8
        if flags & OFFSET:
            end = base + int.from_bytes(body[at : at + 4], "big", signed=True)
            at += 4
        at += 4 * bool(flags & FIRST_FLAGS)
        held = [column for column in COLUMNS if flags & column]
        if len(body) != at + 4 * count * len(held):
            raise ValueError
        total = {DURATIONS: defaults[DURATION] * count, SIZES: defaults[SIZE] * count}
        if held:
            table = np.frombuffer(body, ">u4", offset=at).reshape(count, len(held))
            sums = table.sum(axis=0, dtype=np.int64).tolist()
            total |= dict(zip(held, sums, strict=True))
        track.add(total[DURATIONS])
        self.runs.append((end, total[SIZES]))
        return end + total[SIZES]

    def _fill(self, held: list[Atom], movie: Atom) -> bool:
        """Return whether the runs fill the atoms with samples, each in its place, without those
        whose samples the tables of the movie name."""
        starts = [atom.start for atom in held]
        chunks = [chunk for found in chunks_of(self.file, movie) for chunk in found.tolist()]
        named = {bisect_right(starts, begin) - 1 for begin, size in chunks if size}
        spans: list[list[int]] = []  # begin and end of runs that follow each other
        for begin, size in sorted(self.runs):
            if bisect_right(starts, begin) - 1 in named:
                continue
            if spans and spans[-1][1] == begin:
                spans[-1][1] += size
            elif size:
                spans.append([begin, begin + size])
        unnamed = [atom for index, atom in enumerate(held) if index not in named]
        return spans == [[atom.start, atom.end] for atom in unnamed if atom.start < atom.end]
