"""Check files before they are opened, and samples as they are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QseError

if TYPE_CHECKING:
    from .inspection import Inspection

BLOCK = 1 << 16  # samples that are read at a time
LOUDEST = 1000.0  # samples above it are PCM that was not divided by its full scale
# Hz; a lower rate is one in kHz, or a damaged header, and resampling from it would grow endlessly
LOWEST_RATE = 1000
HIGHEST_RATE = 10_000_000  # Hz; a higher one is a damaged header: resampling would take gigabytes
SALVAGE = "denoise it with salvage=True to keep what is there"
UNPLACED = "what is missing may have been within this part"  # of a file that is read in part
UNCHECKED = "no file of its kind is checked for sound that is missing"


def rate_fault(sample_rate: int) -> str | None:
    """Return what is wrong with the sample rate of a file, None if nothing is."""
    if LOWEST_RATE <= sample_rate <= HIGHEST_RATE:
        return None
    return f"claims {sample_rate} samples per second: export it again"


def check_file(path: Path, name: str) -> None:
    """Raise QseError, or OSError, unless `path` is a file and is not empty."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise QseError(f"{name} is a folder, not an audio file")
    if not stat.S_ISREG(mode):
        raise QseError(
            f"{name} is a pipe or a device: send it to standard input, ... | qse denoise - -o FILE"
        )
    if not path.stat().st_size:
        raise QseError(f"{name} is empty (0 bytes): record or copy it again")


def check_fork(path: Path, name: str) -> None:
    """Raise QseError unless what libsndfile takes for the resource fork of a file lies beside it,
    if it is there: libsndfile follows links, and waits for the other end of a pipe."""
    folder = path.parent
    for fork in (Path(f"._{path.name}"), Path(".AppleDouble", path.name)):
        if not os.path.lexists(folder / fork):  # false also for names too long
            continue
        beside = Path(os.path.realpath(folder), fork)
        if os.path.realpath(beside) != str(beside) or not beside.is_file():
            what = f"{folder / fork} is no regular file, or a link"
            raise QseError(f"{name} cannot be read: {what}; remove that")


def bad_samples(audio: np.ndarray) -> int:
    """Return how many samples are NaN or infinite."""
    return audio.size - int(np.count_nonzero(np.isfinite(audio)))


def checked(blocks: Iterable[np.ndarray], name: str, sample_rate: int) -> Iterator[np.ndarray]:
    """Yield `blocks`. Raises QseError at one with samples that are not finite or above LOUDEST."""
    read = 0
    rest = iter(blocks)
    for block in rest:
        if bad_samples(block):
            sample, channel = np.argwhere(~np.isfinite(block))[0]
            count = bad_samples(block) + sum(map(bad_samples, rest))
            seconds = (read + sample) / sample_rate
            where = f"{count} in all, the first at {seconds:.3f} s in channel {channel + 1}"
            raise QseError(
                f"{name} holds samples that are NaN or infinite, {where}: repair or export it again"
            )
        loudest = np.abs(block).max(initial=0)
        if loudest > LOUDEST:
            raise QseError(
                f"{name} has samples of {loudest:.0f}, where full scale is 1: export it again"
            )
        read += len(block)
        yield block


def check_unchanged(found: Inspection, name: str) -> None:
    """Raise QseError if somebody has written a file since it was inspected: what was read may be a
    part of it, and the result may replace the rest. name: of the file in messages."""
    if found.is_written():
        cure = "wait until that is done, and try again"
        raise QseError(f"{name} was written by another program while it was read: {cure}")
