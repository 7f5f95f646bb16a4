"""Find the length that the tables of an MP4 file state for a sound track, also where its times
contradict each other: ffmpeg leaves out what an edit list does not name, without a word.

An edit list that names a part of the sound is legal, so that it alone tells of no damage.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import IO

import numpy as np

from .mp4_edits import edits_of
from .mp4_items import Atom, among, body_of, inner, tagged_samples

EMPTY = -1  # begin of an edit without sound
PADDING = 8192  # samples, at most, that encoders put in front and behind
PACKET = 2048  # samples, at most, of the last packet that are not heard
FRAME = 1024  # samples; programs state those of the last one, or those that are heard of it
NEAR = 0.002  # seconds by which times differ that were rounded to a unit
DISPLACED = 0.1  # seconds
USUAL = 25  # programs choose a multiple of this, which no power of two is, as units per second
SCALES = (600, 1000, 90_000)
BITS = 32


@dataclass(frozen=True)
class Tables:
    """The times of a track. `scale`, `sound_scale`: units per second of the movie and of the track.

    In units of the movie: `lasts`, 0 if unknown; `edits`: length, begin in units of the track, and
    rate. In units of the track: `sound`, the sum of all samples; `tagged`, the same by a tag, 0
    without one. `whole`: seconds of all fragments, 0 if unknown. `is_extended`: whether there may
    be fragments; `is_edited_oddly`: whether the edit list is damaged.
    """

    scale: int
    sound_scale: int
    lasts: int
    edits: tuple[tuple[int, int, int], ...]
    sound: int
    whole: float
    is_extended: bool = False
    tagged: int = 0
    is_edited_oddly: bool = False

    @property
    def heard(self) -> list[tuple[int, int, int]]:
        """Return the edits that are not silence."""
        return [edit for edit in self.edits if edit[1] != EMPTY]

    @property
    def kept(self) -> float:
        """Return the seconds of sound by the edit list."""
        return sum(length for length, _, _ in self.heard) / self.scale

    @property
    def silent(self) -> int:
        """Return the silence by the edit list, in units of the movie."""
        return sum(length for length, begin, _ in self.edits if begin == EMPTY)

    @property
    def has_other_speed(self) -> bool:
        """Return whether an edit plays the sound faster or slower."""
        return any(rate != 1 for _, _, rate in self.heard)

    @property
    def has_unknown_edits(self) -> bool:
        """Return whether there are edits that ffmpeg does not know: silence behind sound, in place
        of which it repeats the beginning, or another speed."""
        kinds = [begin == EMPTY for _, begin, _ in self.edits]
        has_gap = any(later and not earlier for earlier, later in pairwise(kinds))
        return has_gap or self.has_other_speed

    def seconds(self, sample_rate: int) -> float:
        """Return how long the sound is, at least, that is heard; 0 if unknown."""
        padding = PADDING / sample_rate
        packet = PACKET / sample_rate
        heard = self.heard
        kept = self.kept
        if self.has_other_speed:
            return 0.0
        begin = heard[0][1] if heard else 0
        stated = (self.lasts - self.silent) / self.scale  # by the header of the track
        if len(heard) > 1:
            return stated if stated > kept + NEAR and self.lasts else 0.0
        sound = self.sound / self.sound_scale
        rest = sound - begin / self.sound_scale
        if not self.sound or not heard or not heard[0][0]:  # fragments, or no end
            return max(0.0, (self.whole or rest) - padding)
        found = [min(kept, rest)]
        if self.lasts and stated > kept + NEAR:
            found.append(min(stated, rest))
        for scale in self._other_scales():
            if abs(kept * self.scale / scale - rest) < packet:
                found.append(min(kept * self.scale / scale, rest))
        is_usual = self.sound_scale == sample_rate or not self.sound_scale % USUAL
        if not is_usual and abs((self.sound - begin) / sample_rate - kept) < packet:
            found.append(kept)
        if begin / self.sound_scale > padding and abs(sound - kept) < padding:
            found.append(kept)  # all of the sound, but from its middle on
        return max(found)

    def is_displaced(self) -> bool:
        """Return whether the silence before the sound contradicts the length of the track, or the
        units of the movie that of the sound."""
        silent = self.silent
        total = sum(length for length, _, _ in self.edits)
        far = DISPLACED * self.scale
        # programs count the silence, or leave it out
        is_other = silent and min(abs(total - self.lasts), abs(total - silent - self.lasts)) > far
        if silent and self._is_rescaled():
            return True
        return bool(self.lasts and is_other) or any(begin < EMPTY for _, begin, _ in self.edits)

    def _is_rescaled(self) -> bool:
        """Return whether the edit list is as long as the sound by other units alone."""
        heard = [edit for edit in self.edits if edit[1] >= 0]
        if len(heard) != 1 or not self.sound:
            return False
        kept, begin, _ = heard[0]
        rest = (self.sound - begin) / self.sound_scale
        fits = any(abs(kept / scale - rest) < DISPLACED / 2 for scale in self._other_scales())
        return fits and abs(kept / self.scale - rest) > DISPLACED

    def is_tagged_otherwise(self) -> bool:
        """Return whether the tag by which ffmpeg leaves out the first samples, where there is no
        edit list, contradicts the tables. It may count samples of half or twice the rate."""
        usual = (self.sound, 2 * self.sound, self.sound // 2)
        differs = all(abs(self.tagged - sound) >= FRAME for sound in usual)
        return bool(self.tagged and self.sound and not self.edits) and differs

    def is_exceeded(self, sample_rate: int) -> bool:
        """Return whether the edit list names what lies behind the sound, without one part alone
        from the beginning on, which programs make as long as the picture."""
        heard = [edit for edit in self.edits if edit[1] >= 0]
        if not self.sound or self.is_extended or any(rate != 1 for _, _, rate in heard):
            return False
        if len(heard) == 1 and heard[0][1] / self.sound_scale <= PADDING / sample_rate:
            return False
        ends = [begin / self.sound_scale + length / self.scale for length, begin, _ in heard]
        return max(ends, default=0.0) > self.sound / self.sound_scale + DISPLACED

    def _other_scales(self) -> Iterator[int]:
        """Yield the usual numbers of units per second that `scale` may have been, if it is none."""
        if not self.scale % USUAL or self.scale == self.sound_scale or self.scale < BITS:
            return
        yield from SCALES
        for bit in range(BITS):
            scale = self.scale ^ 1 << bit
            if scale and not scale % (4 * USUAL):
                yield scale


def tables_of(file: IO[bytes]) -> dict[int, Tables]:
    """Return the times of the sound tracks of an open file by their numbers among all tracks, from
    0, without those that cannot be read. Raises OSError."""
    found = {}
    for movie in among(file, Atom(b"", 0, 0, file.seek(0, 2)), b"moov"):
        tracks = list(among(file, movie, b"trak"))
        for index, track in enumerate(tracks):
            with suppress(struct.error, IndexError):
                if tables := _tables(file, movie, track, alone=len(tracks) == 1):
                    found[index] = tables
        break
    return found


def _tables(file: IO[bytes], movie: Atom, track: Atom, alone: bool) -> Tables | None:
    if not is_sound(file, track):
        return None
    sound = inner(file, track, b"mdia")
    scale = scale_of(body_of(file, inner(file, movie, b"mvhd")))
    sound_scale = scale_of(body_of(file, inner(file, sound, b"mdhd")))
    head = body_of(file, inner(file, track, b"tkhd"))
    lasts = _number(head, 28, 8) if head[0] else _number(head, 20, 4)
    if not scale or not sound_scale:
        return None
    edits = edits_of(file, track)
    return Tables(
        scale,
        sound_scale,
        lasts if lasts < (1 << 64 if head[0] else 1 << 32) - 1 else 0,
        edits or (),
        sum_of(body_of(file, inner(file, sound, b"minf", b"stbl", b"stts"))),
        _fragments(file, movie) / scale if alone else 0.0,
        any(among(file, movie, b"mvex")),
        tagged_samples(file) if alone and edits == () else 0,
        edits is None,
    )


def is_sound(file: IO[bytes], track: Atom) -> bool:
    """Return whether a track is one of sound. Raises IndexError."""
    return body_of(file, inner(file, track, b"mdia", b"hdlr"))[8:12] == b"soun"


def sum_of(body: bytes) -> int:
    """Return how long all samples are, by the table `stts`."""
    count = min(_number(body, 4, 4), (len(body) - 8) // 8)
    table = np.frombuffer(body, ">u4", 2 * count, 8).astype(np.float64)
    return int(table[::2] @ table[1::2])


def _fragments(file: IO[bytes], movie: Atom) -> int:
    """Return how long all fragments are, in units of the movie; 0 if unknown."""
    for extends in among(file, movie, b"mvex"):
        for head in among(file, extends, b"mehd"):
            body = body_of(file, head)
            return _number(body, 4, 8 if body[0] else 4)
    return 0


def scale_of(body: bytes) -> int:
    """Return the units per second by the body of `mvhd` or `mdhd`."""
    return _number(body, 20 if body[0] else 12, 4)


def _number(body: bytes, at: int, count: int) -> int:
    """Return a number of `count` bytes. Raises IndexError."""
    if at + count > len(body):
        raise IndexError
    return int.from_bytes(body[at : at + count], "big")
