"""Read recordings at once, as float64."""

from pathlib import Path

import numpy as np

from ..audio.checks import check_fork
from ..audio.formats import native
from ..audio.reader import read_array
from ..errors import QseError


def read_mono(path: Path) -> tuple[np.ndarray, int]:
    """Read (samples,) float64 in [-1, 1] and the sample rate.

    QseError if unusable, or with several channels.
    """
    audio, sample_rate = read_channels(path)
    if len(audio) != 1:
        raise QseError(f"{path} has {len(audio)} channels: evaluation takes one, mix it down first")
    return audio[0], sample_rate


def read_channels(path: Path) -> tuple[np.ndarray, int]:
    """Read (channels, samples) float64 in [-1, 1] and the sample rate.

    QseError if the file cannot be used.
    """
    audio, sample_rate = read_array(path)
    return audio.T.astype(np.float64), sample_rate


def length_and_rate(path: Path) -> tuple[int, int]:
    """Return samples per channel and sample rate of a file, from its header.

    QseError if it cannot be read.
    """
    import soundfile

    if not Path(path).exists():
        raise QseError(f"{path}: no such file")
    check_fork(Path(path), str(path))
    try:
        header = soundfile.info(native(Path(path)))
    except (soundfile.SoundFileError, OSError) as reason:
        raise QseError(
            f"{path} cannot be read as audio ({reason}): replace it or leave it out"
        ) from reason
    return header.frames, header.samplerate
