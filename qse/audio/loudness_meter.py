"""Measure the loudness of a recording with ffmpeg (ITU-R BS.1770, EBU R 128)."""

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import QseError
from .ffmpeg_input import input_file
from .ffmpeg_process import run

QUIETEST = -70.0  # LUFS: the absolute gate, below which nothing is measured
NOWHERE = ("-f", "null", "-")
FILTER = "ebur128=peak=true:framelog=verbose"


@dataclass(frozen=True)
class Loudness:
    """Integrated loudness in LUFS, None if all is below the gate or shorter than 0.4 s; true peak
    in dBTP."""

    integrated: float | None
    peak: float


def measure(path: Path) -> Loudness:
    """Return the loudness of a sound file. Raises QseError if ffmpeg cannot measure it."""
    done = run("ffmpeg", ["-v", "info", "-nostats", *input_file(path), "-af", FILTER, *NOWHERE])
    integrated = re.findall(r"^ +I: +(\S+) LUFS", done.said, re.MULTILINE)
    peak = re.findall(r"^ +Peak: +(\S+) dBFS", done.said, re.MULTILINE)
    if done.status or not integrated or not peak:
        raise QseError(f"ffmpeg could not measure the loudness ({done.reason})")
    loudness = float(integrated[-1])
    return Loudness(loudness if loudness > QUIETEST else None, float(peak[-1]))
