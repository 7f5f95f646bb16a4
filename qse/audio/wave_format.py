"""The format chunk of WAV: its extension (WAVE_FORMAT_EXTENSIBLE), and the blocks of ADPCM."""

from typing import Literal

EXTENSIBLE = 0xFFFE  # in place of the coding
# of the subformat, behind the two bytes of the coding
EXTENSION = bytes.fromhex("000000001000800000aa00389b71")
PCM = b"\1\0"
# coding -> bytes, and samples, with which a block begins, of each channel
ADPCM = {0x02: (7, 2), 0x11: (4, 1)}


def is_misread(body: bytes) -> bool:
    """Return whether libsndfile misreads W64 with this chunk: of one with an extension it takes the
    size of a sample alone, so that float become integers, and logarithmic samples linear ones."""
    is_extended = int.from_bytes(body[:2], "little") == EXTENSIBLE and len(body) >= 40
    return is_extended and body[24:26] != PCM


def untrue_block(body: bytes, order: Literal["little", "big"]) -> str | None:
    """Return in words how the samples of a block of ADPCM contradict its bytes."""
    coding, channels, block, bits, stated = (
        int.from_bytes(body[at : at + 2], order) for at in (0, 2, 12, 14, 18)
    )
    if coding not in ADPCM or not channels or len(body) < 20:
        return None
    head, samples = ADPCM[coding]
    held = (block - channels * head) * 8 // (max(1, bits) * channels) + samples
    if held == stated:
        return None
    return f"its header states {stated} samples for a block, whose bytes hold {held}"
