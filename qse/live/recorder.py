"""A recording of both sides, noisy and enhanced, that never keeps a microphone waiting.

The live path puts blocks into a ring; a thread of its own writes them to disk. What a slow disk cannot take in time is
left out and counted, unless nothing has to keep pace; a full disk ends the recording, keeps what is there, and says so.
"""

import os
from io import BytesIO
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import TYPE_CHECKING

import numpy as np

from ..audio.formats import Layout, format_of, native, subtype_of
from ..audio.writer import keep_header
from ..errors import QseError
from .ring_buffer import RingBuffer

if TYPE_CHECKING:
    from soundfile import SoundFile

HELD = 10  # seconds that may wait for the disk
EVERY = 0.1  # seconds between two visits to it


class Recorder:
    """`channels` of sound on their way to a file. `lost`: samples per channel that the disk was too slow for;
    `error`: why nothing is written any more, None while all is well."""

    def __init__(self, path: Path, sample_rate: int, channels: int, overwrite: bool = False, paced: bool = True):
        """`paced`: the sound does not wait for the disk.

        Raises QseError if `path` exists and `overwrite` is false, or cannot be written or hold so many channels.

        The file is made when there is something to put into it: a session that does not begin leaves nothing behind.
        """
        form = _check(path, overwrite)
        self.path, self.lost = path, 0
        self.error: str | None = None
        self._paced = paced
        self._layout = Layout(sample_rate, channels, form, subtype_of(path), "FILE", {})
        self._ring, self._closing = RingBuffer(HELD * sample_rate, channels), Event()
        self._try()
        self._thread = Thread(target=self._work, name="qse recorder", daemon=True)
        self._thread.start()

    def put(self, block: np.ndarray) -> None:
        """Take (samples, channels) along; returns at once where sound is `paced`, else when there is room."""
        while not self._paced and self.error is None and self._ring.room < len(block):
            sleep(EVERY)
        if self.error is None:
            self.lost += len(block) - self._ring.write(block)

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._closing.set()
        self._thread.join()

    def _work(self) -> None:
        import soundfile

        file, written, block = None, 0, np.zeros((self._ring.room, self._ring.channels), np.float32)
        try:
            while not self._closing.wait(EVERY) or self._ring.waiting:
                if count := self._ring.read(block):
                    file = file or self._open(native(self.path))
                    if (written := written + count) > self._layout.longest:
                        raise QseError(f"a {self._layout.format} file cannot be longer")
                    file.write(np.clip(block[:count], -1, 1))
        except (soundfile.SoundFileError, AssertionError):
            fate = "is not written any further" if file else "could not be begun"
            kept = " What was written so far is kept" if file else ""
            self.error = f"{self.path} {fate}: is the disk full?{kept}"
        except Exception as error:  # whatever it is: the session goes on without
            self.error = f"{self.path} is not written any further ({error}); what was written so far is kept"
        try:
            if file:
                file.close()
        except soundfile.SoundFileError:
            self.error = self.error or f"{self.path} could not be closed: its end may be missing"

    def _open(self, to: str | bytes | BytesIO) -> "SoundFile":
        import soundfile

        form = {"format": self._layout.format, "subtype": self._layout.subtype}
        file = soundfile.SoundFile(to, "w", self._layout.sample_rate, self._layout.channels, **form)
        keep_header(file)
        return file

    def _try(self) -> None:
        import soundfile

        try:
            self._open(BytesIO()).close()
        except soundfile.SoundFileError as error:
            what = f"{self._layout.channels} channels (both sides) at {self._layout.sample_rate} Hz"
            raise QseError(f"{self.path}: this format has no room for {what}; record to a .wav file") from error


def _check(path: Path, overwrite: bool) -> str:
    """The format that goes with the path, if there may be a file."""
    form = format_of(path)
    if form is None:
        raise QseError(f"{path}: no audio format goes with this suffix; name a recording that ends in .wav or .flac")
    path = Path(os.path.realpath(path))  # where a link leads is where there must be room
    if path.exists() and not overwrite:
        raise QseError(f"{path} exists already: name another recording or ask for --overwrite")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise OSError
    except OSError as error:
        raise QseError(f"{path} cannot be written: name another place for the recording") from error
    return form
