"""Sound files with metadata, made and read by programs that are independent of qse: ffmpeg,
ffprobe, sox, mutagen."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

needs_ffmpeg = pytest.mark.skipif(
    shutil.which("ffmpeg") is None or shutil.which("ffprobe") is None,
    reason="needs ffmpeg and ffprobe",
)
needs_sox = pytest.mark.skipif(shutil.which("sox") is None, reason="needs sox")
TAGS = {
    "title": "Gespräch mit Müller",
    "artist": "someone; and others",
    "album": "Äpfel",
    "date": "2024-03-01",
    "comment": "first line",
}
CHAPTERS = """;FFMETADATA1
[CHAPTER]
TIMEBASE=1/1000
START=0
END=500
title=One
[CHAPTER]
TIMEBASE=1/1000
START=500
END=1000
title=Zwei
"""


def sound(
    seconds: float = 1.0, channels: int = 1, sample_rate: int = 16000, seed: int = 0
) -> np.ndarray:
    """Noise of shape (samples, channels)."""
    size = (round(seconds * sample_rate), channels)
    return (0.1 * np.random.default_rng(seed).standard_normal(size)).astype(np.float32)


def wav(
    path: Path, channels: int = 1, sample_rate: int = 16000, subtype: str = "PCM_16", seed: int = 0
) -> Path:
    """Write a second of noise."""
    soundfile.write(
        path, sound(1.0, channels, sample_rate, seed), sample_rate, subtype, format="WAV"
    )
    return path


def ffmpeg(*arguments: object) -> bytes:
    """Run ffmpeg; return what it writes to standard output."""
    line = ["ffmpeg", "-v", "error", "-y", *map(str, arguments)]
    return subprocess.run(line, check=True, stdin=subprocess.DEVNULL, capture_output=True).stdout


def cover(path: Path) -> Path:
    """Make a small picture, PNG."""
    ffmpeg("-f", "lavfi", "-i", "testsrc=size=32x32:duration=1:rate=1", "-frames:v", 1, path)
    return path


def tags_of(name: str) -> list[str]:
    """Return the options with which ffmpeg writes TAGS."""
    return [word for key, text in TAGS.items() for word in (name, f"{key}={text}")]


def probed(path: Path) -> dict:
    """Return what ffprobe says of a file: streams, format, chapters."""
    wanted = ["-show_streams", "-show_format", "-show_chapters", "-of", "json"]
    line = ["ffprobe", "-v", "error", *wanted, str(path)]
    return json.loads(subprocess.run(line, check=True, capture_output=True).stdout)


def tags(path: Path) -> dict[str, str]:
    """Return the tags that ffprobe finds, of the file and its first stream, with names in lower
    case."""
    found = probed(path)
    both = {**found["streams"][0].get("tags", {}), **found["format"].get("tags", {})}
    return {name.lower(): text for name, text in both.items()}


def chapters(path: Path) -> list[tuple[float, str]]:
    """Return begin in seconds and title of the chapters that ffprobe finds; Ogg files do not say
    where they end."""
    found = probed(path)["chapters"]
    return [(round(float(each["start_time"]), 2), each["tags"]["title"]) for each in found]


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return identifier and body of each chunk of a WAV (RIFF) or AIFF file, read plainly."""
    order = "big" if data[:4] == b"FORM" else "little"
    assert int.from_bytes(data[4:8], order) == len(data) - 8
    found = []
    at = 12
    while at < len(data):
        size = int.from_bytes(data[at + 4 : at + 8], order)
        found.append((data[at : at + 4], data[at + 8 : at + 8 + size]))
        at += 8 + size + size % 2
    assert at == len(data)
    return found


def with_chunks(
    path: Path, before: list[tuple[bytes, bytes]], after: list[tuple[bytes, bytes]] = ()
) -> Path:
    """Put chunks before and after the samples of a WAV or AIFF file."""
    data = path.read_bytes()
    order = "big" if data[:4] == b"FORM" else "little"
    sound_chunk = b"SSND" if order == "big" else b"data"

    def written(name: bytes, body: bytes) -> bytes:
        return name + len(body).to_bytes(4, order) + body + bytes(len(body) % 2)

    new = b""
    for name, body in chunks(data):
        if name == sound_chunk:
            new += b"".join(written(*each) for each in before)
        new += written(name, body)
    new += b"".join(written(*each) for each in after)
    path.write_bytes(data[:4] + (len(new) + 4).to_bytes(4, order) + data[8:12] + new)
    return path
