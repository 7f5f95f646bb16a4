"""Audio files: open, read in blocks, write whole or not at all (soundfile, libsndfile).

Blocks are float32 (samples, channels), full scale 1.0.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .containers import has_more, is_cut, says_length
from .errors import QseError
from .formats import Layout
from .whole import whole

if TYPE_CHECKING:
    from soundfile import SoundFile

BLOCK = 1 << 16
SYSTEM_ERROR = 2  # libsndfile's code of what the system refused: at the first write most likely for want of room
UPDATE_HEADER_AUTO = 0x1061  # SFC_SET_UPDATE_HEADER_AUTO of sndfile.h
LOUDEST = 1000.0  # what is above was never divided by its full scale
LOWEST_RATE = 1000  # Hz; what is below was meant in kHz, or is a damaged header, and would grow without end
UNCLIPPED = ("PCM", "FLOAT", "DOUBLE", "VORBIS", "OPUS", "MPEG")  # libsndfile clips PCM, the others have room above
TOP = 1 - 2**-15  # full scale of the rest, telephone and dictaphone codes, in which what is beyond changes its sign
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


def write(
    target: Path, blocks: Iterable[np.ndarray], layout: Layout, overwrite: bool = False, keep: bool = False
) -> int:
    """Write the blocks to `target` and return the samples per channel; nothing is there until all of it is.

    keep: for sound that nobody can have again, what a disk has taken until it was full stays; QseError says so.

    Samples beyond full scale are clipped, where the format has no room for them. Raises QseError if the target exists
    and `overwrite` is false, or cannot be written; whatever the blocks raise goes through, and leaves nothing behind
    either.
    """
    import soundfile

    written, fault = 0, None
    with _beside(target, overwrite) as part:
        try:
            with _create(part, layout, target) as file:
                if keep:
                    keep_header(file)
                for block in blocks:
                    written += len(block)
                    if written > layout.longest:
                        raise QseError(f"{target}: a {layout.format} file cannot be so long; name a .rf64 file")
                    file.write(block if layout.subtype.startswith(UNCLIPPED) else block.clip(-1, TOP))
        except (soundfile.SoundFileError, AssertionError) as error:
            fault = error
        held, ends = _held(part)  # what is lost on closing shows only here
        full = fault or held < written or not ends
        if full and not (keep and held):
            raise QseError(_full(target)) from fault
    if full:
        raise QseError(f"{target} ends early: is the disk full? What was written so far is kept") from fault
    return written


def check_target(target: Path, overwrite: bool) -> None:
    """Raises QseError where something is in the way of `target`: no file, or one that may not be replaced."""
    if target.exists() and not target.is_file():
        raise QseError(f"{target} is no file that can be replaced: name another output, or -o - for a pipe")
    if target.exists() and not overwrite:
        raise QseError(f"{target} exists already: name another output or ask for --overwrite")


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


def native(path: Path) -> str | bytes:
    """The path as soundfile takes it: it encodes a str strictly, and names of old disks are not all UTF-8."""
    return str(path) if os.name == "nt" else os.fsencode(path)


def keep_header(file: "SoundFile") -> None:
    """Let the header of a soundfile.SoundFile that is being written say after every block how much is there: else a
    WAV file whose writer is killed counts as empty."""
    import soundfile

    if file.subtype == "VORBIS":  # which begins anew at every update, and would hold nothing but headers
        return
    with suppress(AttributeError):  # the command has no public name in soundfile
        soundfile._snd.sf_command(file._file, UPDATE_HEADER_AUTO, soundfile._ffi.NULL, 1)


def _create(part: Path, layout: Layout, target: Path) -> "SoundFile":
    import soundfile

    form = {"subtype": layout.subtype, "endian": layout.endian, "format": layout.format}
    try:
        file = soundfile.SoundFile(native(part), "w", layout.sample_rate, layout.channels, **form)
    except (soundfile.SoundFileError, ValueError) as error:
        if getattr(error, "code", 0) == SYSTEM_ERROR:
            raise QseError(_full(target)) from error
        what = f"{layout.format} ({layout.subtype}) at {layout.sample_rate} Hz with {layout.channels} channels"
        raise QseError(f"{target}: libsndfile does not write {what}; name an output that ends in .wav") from error
    for tag, text in layout.tags.items():
        if text:
            with suppress(soundfile.SoundFileError):  # not every format has room for every tag
                setattr(file, tag, text)
    return file


def _held(path: Path) -> tuple[int, bool]:
    """Samples per channel that can be read, 0 if it is no audio file any more; and whether its end is there."""
    import soundfile

    try:
        with soundfile.SoundFile(native(path)) as file:
            return file.frames, file.frames < UNKNOWN_LENGTH and not is_cut(path, file)
    except soundfile.SoundFileError:
        return 0, False


@contextmanager
def _beside(target: Path, overwrite: bool) -> Iterator[Path]:
    """A path to write to, beside `target`: renamed to it if all goes well, removed if not."""
    try:
        check_target(target, overwrite)
        Path(os.path.realpath(target)).parent.mkdir(parents=True, exist_ok=True)
        with whole(target) as part:
            part.open("wb").close()
            yield part
    except OSError as error:
        raise QseError(f"{target} cannot be written: {error.strerror}; name another output") from error


def _full(target: Path) -> str:
    return (
        f"{target} could not be written to its end: is the disk full? Make room and try again; nothing was left there"
    )
