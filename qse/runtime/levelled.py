"""Bring an enhanced recording to a loudness, by one gain."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import soundfile

from ..audio.checks import BLOCK
from ..audio.ffmpeg_input import is_installed
from ..audio.formats import native
from ..audio.loudness_meter import Loudness, measure
from ..errors import QseError, UsageError

HIGHEST_PEAK = -1.0  # dBTP, as EBU R 128 asks for
TOLERATED = 0.05  # dB by which the target may be missed unsaid


def need_meter(target: float) -> None:
    """Raise UsageError for a loudness that is none, QseError if no program can measure it."""
    if not math.isfinite(target):
        raise UsageError(f"loudness={target:g}: name a number of LUFS, such as -16")
    if not is_installed():
        raise QseError(
            f"loudness={target:g} needs the program ffmpeg, which is not installed: install it, or "
            "leave the loudness as it is"
        )


def levelled(path: Path, target: float) -> tuple[Iterator[np.ndarray], str | None]:
    """Return the blocks (samples, channels) of a sound file at `target` LUFS, and a sentence if
    they are not: the gain is limited so that the true peak stays below -1 dBTP."""
    found = measure(path)
    if found.integrated is None:
        return _blocks(path, 1.0), "it is silent or too short for a loudness, and is left as it is"
    gain = gain_to(target, found)
    reached = found.integrated + gain
    missed = target - reached > TOLERATED
    said = (
        f"its loudness is {reached:.1f} LUFS in place of {target:g}: at more, its peaks would "
        f"exceed {HIGHEST_PEAK:g} dBTP"
    )
    return _blocks(path, 10 ** (gain / 20)), said if missed else None


def gain_to(target: float, found: Loudness) -> float:
    """Return the gain in dB that brings a recording to `target` LUFS, or to -1 dBTP."""
    assert found.integrated is not None
    return min(target - found.integrated, HIGHEST_PEAK - found.peak)


def _blocks(path: Path, factor: float) -> Iterator[np.ndarray]:
    with soundfile.SoundFile(native(path)) as file:
        blocks: Iterable[np.ndarray] = file.blocks(BLOCK, dtype="float32", always_2d=True)
        for block in blocks:
            yield block * np.float32(factor)
