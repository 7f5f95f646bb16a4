"""Read audio files in blocks (soundfile, libsndfile).

Blocks are float32 (samples, channels), full scale 1.0.
"""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QseError
from .containers import has_more, is_cut, says_length
from .formats import Layout, native

if TYPE_CHECKING:
    from soundfile import SoundFile

BLOCK = 1 << 16
LOUDEST = 1000.0  # what is above was never divided by its full scale
LOWEST_RATE = 1000  # Hz; what is below was meant in kHz, or is a damaged header, and would grow without end
UNKNOWN_LENGTH = 1 << 62  # libsndfile answers more than this when a FLAC file does not say how long it is


def bad_samples(audio: np.ndarray) -> int:
    """How many samples are NaN or infinite."""
    return audio.size - int(np.count_nonzero(np.isfinite(audio)))


class Source:
    """An audio file open for reading, block by block; a context manager.

    `samples` is the length per channel, None if the file does not say.
    """

    def __init__(self, path: Path, name: str | None = None):
        """Open `path`, called `name` in error messages. Raises QseError if it is no complete, non-empty audio file."""
        self.path, self.name = path, name or str(path)
        file = self._file = _open(path, self.name)
        self.layout = Layout(
            file.samplerate, file.channels, file.format, file.subtype, file.endian, file.copy_metadata()
        )
        known = file.frames < UNKNOWN_LENGTH and says_length(path, file)
        self.samples = file.frames if known else None

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def blocks(self) -> Iterator[np.ndarray]:
        """All samples in turn. Raises QseError at a block with samples that are not finite or above LOUDEST, and where
        the file breaks off."""
        read = 0
        for block in self._read():
            if bad_samples(block):
                raise QseError(self._bad(block, read))
            if (loudest := np.abs(block).max()) > LOUDEST:
                raise QseError(f"{self.name} has samples of {loudest:.0f}, where full scale is 1: export it again")
            read += len(block)
            yield block
        if self.samples is not None and read < self.samples:
            raise QseError(f"{self.name} is cut short: {self.samples} samples are announced, {read} are there")
        if not read:
            raise QseError(f"{self.name} holds no samples")
        self._file.close()  # the result may take its place, which Windows does not allow while it is open

    def _read(self) -> Iterator[np.ndarray]:
        import soundfile

        try:
            frames = max(1024, BLOCK // self.layout.channels)  # between two of them a request to stop is heard
            while len(block := self._file.read(frames, dtype="float32", always_2d=True)):
                yield block
        except soundfile.SoundFileError as error:
            raise QseError(f"{self.name} is damaged or cut short: it cannot be decoded to its end") from error

    def _bad(self, block: np.ndarray, start: int) -> str:
        sample, channel = np.argwhere(~np.isfinite(block))[0]
        count = bad_samples(block) + sum(bad_samples(rest) for rest in self._read())
        where = f"the first at {(start + sample) / self.layout.sample_rate:.3f} s in channel {channel + 1}"
        return f"{self.name} holds {count} samples that are NaN or infinite, {where}: repair it or export it again"


def _open(path: Path, name: str) -> "SoundFile":
    import soundfile

    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise QseError(f"{name} is a folder, not an audio file")
        if not stat.S_ISREG(mode):
            raise QseError(f"{name} is a pipe or a device: send it to standard input, ... | qse denoise - -o FILE")
        with path.open("rb") as file:  # libsndfile does not say what keeps it from opening a file
            if not file.read(1):
                raise QseError(f"{name} is empty (0 bytes): record or copy it again")
        file = soundfile.SoundFile(native(path))
        if fault := _fault(path, file):
            file.close()
            raise QseError(f"{name} {fault}")
    except FileNotFoundError as error:
        raise QseError(f"{name}: no such file") from error
    except OSError as error:
        raise QseError(f"{name} cannot be read: {error.strerror}") from error
    except (soundfile.SoundFileError, TypeError) as error:
        reason = "is not an audio file that libsndfile reads, or its beginning is damaged"
        raise QseError(f"{name} {reason}: try ffmpeg -i IN OUT.wav first") from error
    file.seekable = lambda: False  # soundfile would seek after every block, and an MP3 decoder click
    return file


def _fault(path: Path, file: "SoundFile") -> str | None:
    if is_cut(path, file):
        return "is cut short: its end is missing; record or copy it again"
    if has_more(path, file):
        return "holds more than libsndfile reads of it: repair its header, convert it to WAV, or take it apart, first"
    if not file.frames:
        return "holds no samples"
    return f"claims {file.samplerate} samples per second: export it again" if file.samplerate < LOWEST_RATE else None
