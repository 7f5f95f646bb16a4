"""A recording of both sides, noisy and enhanced, that never keeps the sound waiting.

The live path puts blocks into a ring; a thread of its own writes them to disk. What a slow disk cannot take in time is
left out and counted; a full disk ends the recording, keeps what is there, and says so.
"""

from pathlib import Path
from threading import Event, Thread

import numpy as np

from ..audio import format_of
from ..errors import QseError
from .ring import Ring

HELD = 10  # seconds that may wait for the disk
EVERY = 0.1  # seconds between two visits to it


class Recorder:
    """`channels` of sound on their way to a file. `lost`: samples per channel that the disk was too slow for;
    `error`: why nothing is written any more, None while all is well."""

    def __init__(self, path: Path, sample_rate: int, channels: int, overwrite: bool = False):
        """Raises QseError if `path` exists and `overwrite` is false, or cannot be written."""
        self.path, self.lost, self.error = path, 0, None
        self._ring = Ring(HELD * sample_rate, channels)
        self._file, self._closing = _open(path, sample_rate, channels, overwrite), Event()
        self._thread = Thread(target=self._work, name="qse recorder", daemon=True)
        self._thread.start()

    def put(self, block: np.ndarray) -> None:
        """Take (samples, channels) along; returns at once."""
        if self.error is None:
            self.lost += len(block) - self._ring.write(block)

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._closing.set()
        self._thread.join()

    def _work(self) -> None:
        import soundfile

        block = np.zeros((self._ring.room, self._ring.channels), np.float32)
        try:
            while not self._closing.wait(EVERY) or self._ring.waiting:
                self._file.write(np.clip(block[: self._ring.read(block)], -1, 1))
        except (soundfile.SoundFileError, AssertionError, OSError):
            self.error = f"{self.path} is not written any further: is the disk full? What was written so far is kept"
        try:
            self._file.close()
        except soundfile.SoundFileError:
            self.error = self.error or f"{self.path} could not be closed: its end may be missing"


def _open(path: Path, sample_rate: int, channels: int, overwrite: bool):
    import soundfile

    if path.exists() and not overwrite:
        raise QseError(f"{path} exists already: name another recording or ask for --overwrite")
    form = format_of(path)
    if form is None:
        raise QseError(f"{path}: no audio format goes with this suffix; name a recording that ends in .wav or .flac")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return soundfile.SoundFile(path, "w", sample_rate, channels, format=form)
    except (soundfile.SoundFileError, ValueError, OSError) as error:
        raise QseError(f"{path} cannot be written: name another place or a recording that ends in .wav") from error
