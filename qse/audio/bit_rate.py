"""Find the setting with which libsndfile writes a lossy file of a bit rate."""

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

LOSSY = ("MPEG_LAYER_III", "VORBIS", "OPUS")
# lowest sample rate; kbit/s of level 1 and level 0
MP3_RANGES = (
    (32000, 32, 320),
    (16000, 8, 160),
    (0, 8, 64),
)
OPUS_RANGE = (6, 256)  # kbit/s per channel
INFO = 192  # bytes of the frame of MP3 that states length and delay, without which both change
LOWEST = 0.999  # libsndfile refuses the level 1 for MP3
STEPS = 8  # halvings of the range of qualities of Vorbis


@dataclass(frozen=True)
class BitRate:
    """A bit rate in kbit/s; `is_constant`: whether every frame has it."""

    kbit: float
    is_constant: bool = False


def settings(subtype: str, sample_rate: int, channels: int, rate: BitRate | None) -> dict[str, Any]:
    """Return the arguments of SoundFile for the bit rate nearest to `rate`; none where there is
    nothing to set."""
    if rate is None or subtype not in LOSSY:
        return {}
    if subtype == "MPEG_LAYER_III":
        low, high = next((low, high) for least, low, high in MP3_RANGES if sample_rate >= least)
        states_length = _frame_bytes(sample_rate, rate.kbit) >= INFO
        mode = "CONSTANT" if rate.is_constant and states_length else "AVERAGE"
        return {"compression_level": _level(rate.kbit, low, high), "bitrate_mode": mode}
    if subtype == "OPUS":
        return {"compression_level": _level(rate.kbit / channels, *OPUS_RANGE)}
    return {"compression_level": _vorbis_level(sample_rate, channels, rate.kbit)}


def _frame_bytes(sample_rate: int, kbit: float) -> float:
    """Return the bytes of a frame of MP3 of a constant bit rate."""
    samples = 1152 if sample_rate >= 32000 else 576
    return samples / 8 * 1000 * kbit / sample_rate


def _level(kbit: float, low: float, high: float) -> float:
    return min(LOWEST, max(0.0, (high - kbit) / (high - low)))


def vorbis_nominal(head: bytes) -> float:
    """Return the nominal bit rate in kbit/s by the first page of an Ogg file, 0 if it does not
    say."""
    at = head.find(b"\x01vorbis")
    bits = int.from_bytes(head[at + 20 : at + 24], "little", signed=True)
    return max(0, bits) / 1000 if at >= 0 else 0.0


@lru_cache
def _vorbis_level(sample_rate: int, channels: int, kbit: float) -> float:
    """Return the level of libsndfile at which the nominal bit rate of Vorbis is nearest to
    `kbit`."""
    low = 0.0  # the bit rate falls with the level
    high = 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _nominal_at(middle, sample_rate, channels) > kbit:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _nominal_at(level: float, sample_rate: int, channels: int) -> float:
    import numpy as np
    import soundfile

    file = io.BytesIO()
    silence = np.zeros((64, channels), np.float32)
    soundfile.write(file, silence, sample_rate, "VORBIS", format="OGG", compression_level=level)
    return vorbis_nominal(file.getvalue()[:128])
