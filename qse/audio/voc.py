"""VOC files of Creative Labs: sound in blocks, to which no metadata are written.

libsndfile reads the heads of further blocks of sound as samples, and stops at the first byte that
is no block, so files with several are read by ffmpeg, and the blocks are looked at here.
"""

from __future__ import annotations

from functools import cached_property
from typing import IO, TYPE_CHECKING, NamedTuple

from .bytes_behind import SLACK, bytes_behind
from .inspection import Inspection

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import soundfile

BEGIN = 20  # of the two bytes that say where the first block begins
END = 0  # the block behind the last one
NEW = 9  # a block of sound, which may be larger than its size, of three bytes, can say
SOUND = (1, 2, NEW)
CODED = {1: 2, 8: 4, NEW: 8}  # bytes that say rate, coding and channels, by kind of block
LEFT_OUT = (3, 6)  # a pause and a repetition, which neither libsndfile nor ffmpeg reads
LAST = 9  # kind of blocks
HEAD = 4  # bytes in front of a block: its kind, and its size in three
MOST_ZEROS = 4096  # bytes behind the last block; more may be in place of further ones
MOST = 2_000_000  # blocks that are looked at
NO_END = "its last block is not marked as such: what came behind it, if anything, is lost"


class Blocks(NamedTuple):
    """Hold the number of blocks of sound, what is wrong with the blocks, if anything, and whether
    the one that marks the end is there."""

    sounds: int
    fault: str | None
    has_end: bool


class Voc(Inspection):
    """A file of Creative Labs."""

    family = "VOC"
    has_times = False
    formats = ("VOC",)

    def __init__(self, path: Path, kind: str | None, state: os.stat_result):
        super().__init__(path, kind, state)
        self.needs_ffmpeg = self.blocks.sounds > 1

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "VOC" if head.startswith(b"Creative Voice File") else None

    @cached_property
    def blocks(self) -> Blocks:
        """Return what the blocks of the file say."""
        with self.path.open("rb") as file:
            return _blocks(file, self.state.st_size)

    def skipped_damage(self, sample_rate: int) -> str | None:
        return self.blocks.fault or (None if self.blocks.has_end else NO_END)

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        return self.blocks.fault

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        return None if self.blocks.has_end else NO_END


def _blocks(file: IO[bytes], size: int) -> Blocks:
    """Follow the blocks of a file of `size` bytes."""
    file.seek(BEGIN)
    at = int.from_bytes(file.read(2), "little")
    sounds = 0
    coding: dict[int, bytes] = {}  # by kind of block
    for _ in range(MOST):
        file.seek(at)
        head = file.read(HEAD)
        if not head:
            file.seek(-1, 2)  # libsndfile counts it as sound, of A-law and mu-law
            return Blocks(sounds, None, has_end=sounds == 1 and file.read() == b"\0")
        if sounds == 1 and _is_end(size - at, wraps=NEW in coding):
            return Blocks(sounds, None, has_end=True)
        if head[0] == END:
            behind = bytes_behind(file, at + 1)
            fault = f"{behind} bytes behind its last block are not read" if behind else None
            return Blocks(sounds, fault, has_end=size - at <= MOST_ZEROS)
        following = at + HEAD + int.from_bytes(head[1:], "little")
        if head[0] > LAST or following > size:
            fault = f"its blocks do not follow each other behind {at} of {size} bytes"
            return Blocks(sounds, fault, has_end=False)
        if head[0] in LEFT_OUT:
            fault = (
                "it holds pauses or repetitions as numbers, which are not read: convert it with sox"
            )
            return Blocks(sounds, fault, has_end=False)
        if head[0] in CODED:
            described = file.read(CODED[head[0]])
            if coding.setdefault(head[0], described) != described:
                fault = "its blocks differ in rate, coding or channels: convert it with sox"
                return Blocks(sounds, fault, has_end=False)
        sounds += head[0] in SOUND
        at = following
    return Blocks(sounds, f"it has more than {MOST} blocks", has_end=False)


def _is_end(behind: int, wraps: bool) -> bool:
    """Return whether the one block of sound reaches to the end, as far as its size tells, of which
    there are so many bytes behind it. sox writes a size that is 8 too small, and all programs one
    without what three bytes do not hold; the decoder reads on if `wraps`."""
    return behind <= SLACK or (wraps and behind % (1 << 24) <= SLACK)
