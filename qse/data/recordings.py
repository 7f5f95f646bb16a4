"""Read recordings at once, as float64."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from ..audio.checks import check_fork
from ..audio.formats import native
from ..audio.input_path import held_input
from ..audio.reader import open_audio
from ..errors import QseError

_noticed: ContextVar[list[str] | None] = ContextVar("noticed", default=None)


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
    name = str(path)
    with held_input(Path(path), name) as held, open_audio(held, name) as source:
        audio = np.concatenate(list(source.blocks()))
    notice(source.damage)
    if source.media and source.media.others:
        notice(f"{name}: {source.media.others}")
    return audio.T.astype(np.float64), source.layout.sample_rate


def notice(damage: str | None) -> None:
    """Hand a sentence about a damaged file, if there is one, to `damage_noticed`; else warn."""
    noticed = _noticed.get()
    if damage and noticed is not None:
        noticed.append(damage)
    elif damage:
        warnings.warn(damage, stacklevel=3)


@contextmanager
def damage_noticed() -> Iterator[list[str]]:
    """Yield a list that gets a sentence for each damaged file that this thread reads meanwhile."""
    found: list[str] = []
    token = _noticed.set(found)
    try:
        yield found
    finally:
        _noticed.reset(token)


def length_and_rate(path: Path) -> tuple[int, int]:
    """Return samples per channel and sample rate of a file, from its header.

    QseError if it cannot be read.
    """
    import soundfile

    try:
        with held_input(Path(path), str(path)) as held:
            check_fork(held, str(path))
            header = soundfile.info(native(held))
    except (soundfile.SoundFileError, OSError) as reason:
        raise QseError(
            f"{path} cannot be read as audio ({reason}): replace it or leave it out"
        ) from reason
    return header.frames, header.samplerate
