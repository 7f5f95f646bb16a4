"""Audio files for tests: tones in any format that libsndfile writes."""

from pathlib import Path

import numpy as np
import soundfile

from qse.audio.formats import Layout
from qse.audio.reader import AudioFile, open_audio
from qse.errors import QseError

KINDS = [
    *(
        ("wav", subtype)
        for subtype in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW")
    ),
    *(
        ("flac", "PCM_16"),
        ("flac", "PCM_24"),
        ("aiff", "PCM_16"),
        ("au", "PCM_16"),
        ("caf", "PCM_24"),
    ),
    *(
        ("w64", "PCM_16"),
        ("rf64", "PCM_16"),
        ("ogg", "VORBIS"),
        ("opus", "OPUS"),
        ("mp3", "MPEG_LAYER_III"),
    ),
    *(("voc", "PCM_16"), ("sph", "PCM_16"), ("snd", "PCM_16"), ("aifc", "PCM_16")),
]
CONTAINER = {"opus": "OGG", "rf64": "RF64", "sph": "NIST", "snd": "AU", "aifc": "AIFF"}
WAV = Layout(16000, 1, "WAV", "PCM_16", "FILE", {})


def tone(samples: int, channels: int = 1) -> np.ndarray:
    phase = 0.2 * np.arange(samples)[:, None] * (1 + np.arange(channels))
    return (0.4 * np.sin(phase)).astype(np.float32)


def make(
    path: Path, audio: np.ndarray, subtype: str | None = None, sample_rate: int = 16000
) -> Path:
    soundfile.write(path, audio, sample_rate, subtype, format=CONTAINER.get(path.suffix[1:]))
    return path


def read(path: Path) -> int:
    """Return the samples per channel that can be read."""
    with AudioFile(path) as source:
        return sum(len(block) for block in source.blocks())


def outcome(path: Path, salvage: bool = False, stop: float = np.inf) -> tuple[int, str]:
    """Return the samples per channel that are read, `stop` at least, and what is said of damage, or
    the reason of a refusal."""
    try:
        with open_audio(path, salvage=salvage) as source:
            count = sum(map(len, source.blocks(stop)))
            return count, source.damage or ""
    except QseError as error:
        return 0, str(error)


def ogg_checksum(page: bytes) -> int:
    """RFC 3533, section 6: the polynomial 0x04C11DB7, bit by bit, beginning with 0."""
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value >> 31 else value << 1) & 0xFFFFFFFF
    return value
