"""Ask ffprobe, which comes with ffmpeg, what a file holds: sound tracks, tags, chapters, cover."""

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SURE = 50  # of 100: ffprobe's score for a file of which nothing but the suffix says what it is


@dataclass(frozen=True)
class Track:
    """A sound track.

    `bits`: of a sample, 0 for lossy codings; `bit_rate`: in bit/s, 0 if unknown.
    """

    codec: str
    sample_rate: int
    channels: int
    bits: int
    bit_rate: int
    tags: dict[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()  # default, comment, hearing_impaired, ...

    @property
    def is_lossless(self) -> bool:
        """Return whether the coding keeps every sample."""
        return self.codec in ("alac", "flac", "wavpack", "tta", "ape") or self.codec.startswith(
            "pcm_"
        )


@dataclass(frozen=True)
class Media:
    """The contents of a file.

    chapters: their beginnings in seconds. covers: number of attached pictures, which are not
    counted as `pictures`.
    """

    tracks: list[Track]
    tags: dict[str, str]
    chapters: list[float]
    covers: int
    pictures: int
    seconds: float
    score: int


def probe(path: Path) -> Media | None:
    """Return what ffprobe finds in a file; None if it finds nothing, or is not installed."""
    program = shutil.which("ffprobe")
    if program is None:
        return None
    wanted = ("-show_streams", "-show_format", "-show_chapters", "-of", "json")
    command = [program, "-v", "error", *wanted, f"file:{path}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    try:
        found = json.loads(done.stdout.decode("utf-8", "replace") or "{}")
    except ValueError:
        return None
    return _media(found) if found.get("format") else None


def _media(found: dict[str, Any]) -> Media:
    streams = found.get("streams", [])
    form = found["format"]
    pictures = [stream for stream in streams if stream.get("codec_type") == "video"]
    covers = [stream for stream in pictures if stream.get("disposition", {}).get("attached_pic")]
    tracks = [_track(stream) for stream in streams if stream.get("codec_type") == "audio"]
    return Media(
        tracks=tracks,
        tags=form.get("tags", {}),
        chapters=[float(chapter.get("start_time", 0)) for chapter in found.get("chapters", [])],
        covers=len(covers),
        pictures=len(pictures) - len(covers),
        seconds=float(form.get("duration", 0)),
        score=int(form.get("probe_score", 0)),
    )


def _track(stream: dict[str, Any]) -> Track:
    bits = _number(stream, "bits_per_raw_sample") or _number(stream, "bits_per_sample")
    marks = [name for name, is_set in stream.get("disposition", {}).items() if is_set]
    return Track(
        codec=stream.get("codec_name", "unknown"),
        sample_rate=_number(stream, "sample_rate"),
        channels=_number(stream, "channels"),
        bits=bits,
        bit_rate=_number(stream, "bit_rate"),
        tags=stream.get("tags", {}),
        marks=tuple(marks),
    )


def _number(stream: dict[str, Any], name: str) -> int:
    text = str(stream.get(name, ""))
    return int(text) if text.isdecimal() else 0
