"""Audio files and arrays: open, read in blocks, write whole or not at all, convert the sample rate.

soundfile (libsndfile) reads and writes, soxr converts. Blocks are float32 (samples, channels), full scale 1.0.
A format is the container (WAV, FLAC, OGG, ...), a subtype what the samples are coded as (PCM_16, VORBIS, ...).
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from .containers import has_more, is_cut
from .errors import QseError

BLOCK = 1 << 16
UNKNOWN_LENGTH = 1 << 62  # libsndfile answers more than this when a FLAC file does not say how long it is
FORMATS = {
    **{"wav": "WAV", "wave": "WAV", "w64": "W64", "rf64": "RF64", "flac": "FLAC", "mp3": "MP3"},
    **{"ogg": "OGG", "oga": "OGG", "opus": "OGG", "aiff": "AIFF", "aif": "AIFF", "aifc": "AIFF"},
    **{"au": "AU", "snd": "AU", "caf": "CAF", "voc": "VOC", "sph": "NIST", "nist": "NIST"},
}


def format_of(path: Path) -> str | None:
    """The format that goes with the path's suffix, None for a suffix that is not in FORMATS."""
    return FORMATS.get(path.suffix.lower().lstrip("."))


def subtype_of(target: Path, wanted: str = "") -> str:
    """How `target`, whose suffix names a format, holds its samples: as `wanted` where it can, else as usual."""
    import soundfile

    form = format_of(target)
    if target.suffix.lower() == ".opus":
        return "OPUS"
    written = not wanted.startswith("MPEG") or form == "MP3"  # libsndfile says that a WAV may hold MP3, and refuses it
    return wanted if written and soundfile.check_format(form, wanted) else soundfile.default_subtype(form)


def bad_samples(audio: np.ndarray) -> int:
    """How many samples are NaN or infinite."""
    return audio.size - int(np.count_nonzero(np.isfinite(audio)))


@dataclass(frozen=True)
class Layout:
    """What an audio file is beside its samples; `tags` are its title, artist and so on."""

    sample_rate: int
    channels: int
    format: str
    subtype: str
    endian: str
    tags: dict[str, str]

    def to(self, target: Path, source: Path) -> "Layout":
        """The layout to write `target` in: this one where the suffix allows it, otherwise the nearest.

        Raises QseError if no format goes with the suffix.
        """
        if target.suffix.lower() == source.suffix.lower():
            return self
        form = format_of(target)
        if form is None:
            raise QseError(f"{target}: no audio format goes with this suffix; known are {', '.join(FORMATS)}")
        return Layout(self.sample_rate, self.channels, form, subtype_of(target, self.subtype), "FILE", self.tags)


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
        self.samples = file.frames if file.frames < UNKNOWN_LENGTH else None

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_) -> None:
        self._file.close()

    def blocks(self) -> Iterator[np.ndarray]:
        """All samples in turn. Raises QseError at the first sample that is not finite, or where the file breaks off."""
        read = 0
        for block in self._read():
            if bad_samples(block):
                raise QseError(self._bad(block, read))
            read += len(block)
            yield block
        if self.samples is not None and read < self.samples:
            raise QseError(f"{self.name} is cut short: {self.samples} samples are announced, {read} are there")

    def _read(self) -> Iterator[np.ndarray]:
        import soundfile

        try:
            while len(block := self._file.read(BLOCK, dtype="float32", always_2d=True)):
                yield block
        except soundfile.SoundFileError as error:
            raise QseError(f"{self.name} is damaged or cut short: it cannot be decoded to its end") from error

    def _bad(self, block: np.ndarray, start: int) -> str:
        sample, channel = np.argwhere(~np.isfinite(block))[0]
        count = bad_samples(block) + sum(bad_samples(rest) for rest in self._read())
        where = f"the first at {(start + sample) / self.layout.sample_rate:.3f} s in channel {channel + 1}"
        return f"{self.name} holds {count} samples that are NaN or infinite, {where}: repair it or export it again"


def write(target: Path, blocks: Iterable[np.ndarray], layout: Layout, overwrite: bool = False) -> int:
    """Write the blocks to `target` and return the samples per channel; nothing is there until all of it is.

    Samples beyond full scale are clipped in integer formats. Raises QseError if the target exists and `overwrite` is
    false, or cannot be written; whatever the blocks raise goes through, and leaves nothing behind either.
    """
    import soundfile

    written = 0
    with _beside(target, overwrite) as part:
        with _create(part, layout, target) as file:
            for block in blocks:
                try:
                    file.write(block)
                except (soundfile.SoundFileError, AssertionError) as error:
                    raise QseError(_full(target)) from error
                written += len(block)
        if not _is_whole(part, written):  # what is lost on closing shows only here
            raise QseError(_full(target))
    return written


class Resampler:
    """A stream of blocks (samples, channels) from one sample rate to another, in step with it (soxr, high quality)."""

    def __init__(self, source_rate: int, target_rate: int, channels: int):
        self._empty = np.zeros((0, channels), np.float32)
        self._soxr = None
        if source_rate != target_rate:
            import soxr

            self._soxr = soxr.ResampleStream(source_rate, target_rate, channels, dtype="float32")

    def process(self, block: np.ndarray) -> np.ndarray:
        """The next samples in -> the samples that are ready, (0 or more, channels)."""
        return self._soxr.resample_chunk(np.ascontiguousarray(block)) if self._soxr else block

    def finish(self) -> np.ndarray:
        """The last samples, when no more come in."""
        return self._soxr.resample_chunk(self._empty, last=True) if self._soxr else self._empty


def kept_share(strength: float | None) -> np.float32:
    """How much of the noisy signal stays where noise is pushed down by `strength` dB at most; None: nothing.

    ValueError if it is not a number from 0 up.
    """
    if strength is not None and not strength >= 0:
        raise ValueError(f"strength is a number of dB from 0 up, not {strength}")
    return np.float32(0 if strength is None else 10 ** (-strength / 20))


def spare(sample_rate: int, file_rate: int) -> int:
    """Samples of silence after which the conversion back to `file_rate` never falls short by rounding."""
    return ceil(2 * sample_rate / file_rate)


def _open(path: Path, name: str):
    import soundfile

    try:
        if path.is_dir():
            raise QseError(f"{name} is a folder, not an audio file")
        if path.exists() and not path.is_file():
            raise QseError(f"{name} is a pipe or a device: send it to standard input, ... | qse denoise - -o FILE")
        if not path.stat().st_size:
            raise QseError(f"{name} is empty (0 bytes): record or copy it again")
        file = soundfile.SoundFile(_name(path))
    except FileNotFoundError as error:
        raise QseError(f"{name}: no such file") from error
    except OSError as error:
        raise QseError(f"{name} cannot be read: {error.strerror}") from error
    except (soundfile.SoundFileError, TypeError) as error:
        raise QseError(f"{name} is not an audio file that libsndfile reads, or its beginning is damaged") from error
    if is_cut(path, file):
        raise QseError(f"{name} is cut short: its end is missing; record or copy it again")
    if has_more(path, file):
        raise QseError(f"{name} holds more than libsndfile reads of it: convert it to WAV, or take it apart, first")
    if not file.frames:
        raise QseError(f"{name} holds no samples")
    file.seekable = lambda: False  # soundfile would seek after every block, and an MP3 decoder click
    return file


def _name(path: Path) -> str | bytes:
    """The path as soundfile takes it: it encodes a str strictly, and names of old disks are not all UTF-8."""
    return str(path) if os.name == "nt" else os.fsencode(path)


def _create(part: Path, layout: Layout, target: Path):
    import soundfile

    form = {"subtype": layout.subtype, "endian": layout.endian, "format": layout.format}
    try:
        file = soundfile.SoundFile(_name(part), "w", layout.sample_rate, layout.channels, **form)
    except (soundfile.SoundFileError, ValueError) as error:
        what = f"{layout.format} ({layout.subtype}) at {layout.sample_rate} Hz with {layout.channels} channels"
        raise QseError(f"{target}: libsndfile does not write {what}; name an output that ends in .wav") from error
    for tag, text in layout.tags.items():
        if text:
            with suppress(soundfile.SoundFileError):  # not every format has room for every tag
                setattr(file, tag, text)
    return file


def _is_whole(path: Path, samples: int) -> bool:
    import soundfile

    try:
        with soundfile.SoundFile(_name(path)) as file:
            return samples <= file.frames < UNKNOWN_LENGTH and not is_cut(path, file)
    except soundfile.SoundFileError:
        return False


@contextmanager
def _beside(target: Path, overwrite: bool) -> Iterator[Path]:
    """A path to write to, beside `target`: renamed to it if all goes well, removed if not."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if target.exists() and not overwrite:
            raise QseError(f"{target} exists already: name another output or ask for --overwrite")
        target.parent.mkdir(parents=True, exist_ok=True)
        part.open("wb").close()
        try:
            yield part
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise QseError(f"{target} cannot be written: {error.strerror}") from error


def _full(target: Path) -> str:
    return (
        f"{target} could not be written to its end: is the disk full? Make room and try again; nothing was left there"
    )
