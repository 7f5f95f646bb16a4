"""The order of channels: that of WAV, in which blocks of samples are, and that of Vorbis and Opus;
and channels that a coding takes for those of subwoofers.

Vorbis I, section 4.3.9; RFC 7845, section 5.1.1.2; WAVE_FORMAT_EXTENSIBLE for masks of positions.
"""

from pathlib import Path

import numpy as np

from ..errors import QseError
from .formats import Layout

# by the number of channels: the mask of positions where a FLAC or Ogg file says nothing
USUAL_MASKS = {1: 0x4, 2: 0x3, 3: 0x7, 4: 0x33, 5: 0x37, 6: 0x3F, 7: 0x70F, 8: 0x63F}
# by the number of channels: which channel of a file is each one of WAV
VORBIS = {
    3: (0, 2, 1),
    5: (0, 2, 1, 3, 4),
    6: (0, 2, 1, 5, 3, 4),
    7: (0, 2, 1, 6, 5, 3, 4),
    8: (0, 2, 1, 7, 5, 6, 3, 4),
}
# by coding: with which numbers of channels, and rates in Hz, the fourth of WAV is one
WITH_SUBWOOFER = {"OPUS": ((6, 7, 8), (0, 48_000)), "VORBIS": ((6,), (40_000, 50_000))}
FRONT = 0xF  # mask of left, right, centre and subwoofer
# by encoder of ffmpeg and number of channels: the mask for channels of unknown positions, where the
# usual one has a subwoofer of which the encoder keeps the lowest frequencies alone
SUPPOSED = {"aac": {6: 0x137, 7: 0x637, 8: 0x737}}
EXCHANGED = {"libopus": (5, 7)}  # numbers of channels that an encoder exchanges


def stored(block: np.ndarray, form: str) -> np.ndarray:
    """Return (samples, channels) in the order in which files of a format of libsndfile have
    them."""
    order = VORBIS.get(block.shape[1]) if form == "OGG" else None
    return block if order is None else block[:, np.argsort(order)]


def from_vorbis(block: np.ndarray) -> np.ndarray:
    """Return (samples, channels) of a Vorbis stream in the order of WAV."""
    order = VORBIS.get(block.shape[1])
    return block if order is None else block[:, order]


def check_subwoofer(target: Path, layout: Layout, mask: int | None) -> None:
    """Raise QseError where the coding of a file with this layout keeps the lowest frequencies of
    the fourth channel alone, and that is not known to be the one of a subwoofer. mask: of their
    positions, None or 0 if unknown."""
    counts, (lowest, highest) = WITH_SUBWOOFER.get(layout.subtype, ((), (0, 0)))
    is_cut = layout.channels in counts and lowest <= layout.sample_rate <= highest
    if is_cut and (mask or 0) & FRONT != FRONT:
        coding = layout.subtype.capitalize()
        raise QseError(
            f"{target}: {coding} would take the fourth of these channels for a subwoofer, and keep "
            "its lowest frequencies alone: name an output that ends in .flac"
        )
