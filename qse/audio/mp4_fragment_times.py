"""Compare the times that the fragments of an MP4 file state with the samples before them: ffmpeg
leaves out sound that lies too far off, without a word.

Recordings of live sound begin at any time, and may have gaps.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from .mp4_items import Atom, among, body_of, inner
from .mp4_times import DISPLACED, is_sound, scale_of, sum_of
from .time_stamps import MOST_FILLED

DEFAULTS = struct.Struct(">I4xII")  # track, and duration and bytes of a sample


@dataclass
class FragmentTrack:
    """A track of fragments. `duration`, `size`: of a sample where nothing else is said. `scale`:
    units per second, 0 if it has no sound. `end`: of the samples so far, None before the first.
    """

    duration: int
    size: int
    scale: int = 0
    end: int | None = None
    is_displaced: bool = False

    def begin(self, body: bytes) -> None:
        """Go on at the time that the body of `tfdt` states. Raises ValueError if it is damaged."""
        if len(body) != (12 if body[0] else 8):
            raise ValueError
        time = int.from_bytes(body[4:], "big")
        if self.end is not None:
            gap = time - self.end
            is_near = -DISPLACED * self.scale <= gap <= MOST_FILLED * self.scale
            self.is_displaced |= self.scale > 0 and not is_near
        self.end = time

    def add(self, duration: int) -> None:
        """Count samples that follow."""
        self.end = (self.end or 0) + duration


def fragment_tracks(file: IO[bytes], movie: Atom) -> dict[int, FragmentTrack]:
    """Return the tracks by their numbers. Raises IndexError or struct.error for damaged tables."""
    found = {}
    extends = inner(file, movie, b"mvex")
    for atom in among(file, extends, b"trex"):
        defaults = DEFAULTS.unpack(body_of(file, atom)[4:20])
        found[defaults[0]] = FragmentTrack(*defaults[1:])
    for atom in among(file, movie, b"trak"):
        with suppress(IndexError, KeyError, ValueError):
            _read_times(file, atom, found)
    return found


def _read_times(file: IO[bytes], track: Atom, found: dict[int, FragmentTrack]) -> None:
    """Read the units of a track, and how long the samples are that its own tables name."""
    if not is_sound(file, track):
        return
    sound = inner(file, track, b"mdia")
    head = body_of(file, inner(file, track, b"tkhd"))
    at = 20 if head[0] else 12
    one = found[int.from_bytes(head[at : at + 4], "big")]
    one.scale = scale_of(body_of(file, inner(file, sound, b"mdhd")))
    one.end = sum_of(body_of(file, inner(file, sound, b"minf", b"stbl", b"stts"))) or None
