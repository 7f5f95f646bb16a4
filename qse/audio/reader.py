"""Read audio files in blocks: with libsndfile, or with ffmpeg for formats that libsndfile does not
support.

Blocks are float32 (samples, channels), full scale 1.0.
"""

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import QseError
from .channel_order import from_vorbis
from .checks import BLOCK, SALVAGE, UNCHECKED, UNPLACED, check_fork, checked, rate_fault
from .content import inspected, no_header
from .formats import Layout, suffix_of
from .input_path import held_input
from .inspection import Inspection
from .probe import Media
from .salvage import HIDDEN, damage_of, missing_text, open_repaired, open_sound, read_behind
from .suffixes import FOREIGN, HEADERLESS

if TYPE_CHECKING:
    from soundfile import SoundFile

UNKNOWN_LENGTH = 1 << 62  # libsndfile returns more than this for a FLAC file without a length
MORE = (
    "holds more than libsndfile reads of it: convert it to WAV with ffmpeg, or take it apart, first"
)


class AudioReader(Protocol):
    """An audio file open for reading; a context manager.

    `inspection`: what the file is and holds. `samples`: length per channel, None if unknown before
    the end. `damage`: what is wrong with a salvaged file, in words, once all blocks are read; None
    if nothing is. `media`: what ffprobe found in a file that ffmpeg reads; None for other files.
    `channel_mask`: positions of the channels, as WAVE_FORMAT_EXTENSIBLE has them; None if unknown.
    """

    inspection: Inspection
    layout: Layout
    samples: int | None
    damage: str | None
    media: Media | None
    channel_mask: int | None

    def __enter__(self) -> "AudioReader": ...

    def __exit__(self, *_: object) -> None: ...

    def blocks(self, stop: float = math.inf) -> Iterator[np.ndarray]:
        """Yield all samples in blocks (samples, channels), or as many blocks as hold `stop`
        samples.

        Raises QseError for damage, as far as that is read, and for unusable samples.
        """


class NotRead(QseError):
    """libsndfile cannot read a file, or reads only a part of it."""


def open_audio(
    path: Path, name: str | None = None, salvage: bool = False, track: int = 1
) -> AudioReader:
    """Open `path`, called `name` in messages.

    Raises QseError if it is not a complete, non-empty audio file.

    The content decides whether libsndfile or ffmpeg reads it. salvage: read a damaged file as far
    as it goes and set `damage`. track: the number of the sound track, from 1, in a file that has
    several.
    """
    from .ffmpeg import FfmpegDecoder, is_readable

    name = name or str(path)
    found = inspected(path, name)
    if found.needs_ffmpeg or (found.kind is None and suffix_of(path) in FOREIGN):
        return FfmpegDecoder(path, name, salvage, track, found)
    try:
        source = AudioFile(path, name, salvage, found)
    except NotRead:
        if found.media is None and suffix_of(path) in HEADERLESS:
            raise QseError(f"{name} {no_header(path)}") from None
        if not is_readable(found, name, salvage):
            raise
        return FfmpegDecoder(path, name, salvage, track, found)
    if track > 1:
        source.__exit__()
        raise QseError(f"{source.name} has no sound track {track}: it has 1")
    return source


class AudioFile:
    """Read an audio file with libsndfile; see AudioReader."""

    def __init__(
        self,
        path: Path,
        name: str | None = None,
        salvage: bool = False,
        inspection: Inspection | None = None,
    ):
        """See `open_audio`. `inspection`: of the file; it is inspected if that is None."""
        self.name = name or str(path)
        self.inspection = inspection or inspected(path, self.name)
        self._salvage = salvage
        self.damage: str | None = None
        self.media: Media | None = None
        file, fault = _open(self.inspection, self.name, salvage)
        self._damaged = fault is not None
        self._places = fault.removeprefix(HIDDEN) if fault and fault.startswith(HIDDEN) else ""
        self._file = file
        lacking = self.inspection.missing_at_end(file)
        self._lacking = lacking if self.inspection.kind else UNCHECKED
        kind = (file.format, file.subtype, file.endian)
        self.layout = Layout(file.samplerate, file.channels, *kind, file.copy_metadata())
        known = file.frames < UNKNOWN_LENGTH and self.inspection.says_length()
        self.samples = self.inspection.samples(file) if known else None
        self.channel_mask = self.inspection.channel_mask

    def __enter__(self) -> "AudioFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def blocks(self, stop: float = math.inf) -> Iterator[np.ndarray]:
        """Yield samples in turn; see AudioReader."""
        read = 0
        try:
            for block in checked(self._read(), self.name, self.layout.sample_rate):
                read += len(block)
                yield block
                if read >= stop:
                    break
        except _Undecodable as error:
            if not self._salvage:
                reason = "it cannot be decoded to its end"
                raise QseError(
                    f"{self.name} is damaged or cut short: {reason}; {SALVAGE}"
                ) from error
            self._damaged = True
        is_short = read < min(stop, self.samples or 0)
        if is_short and not self._salvage:
            short = f"{self.samples} samples are announced, {read} are there"
            raise QseError(f"{self.name} is cut short: {short}; {SALVAGE}")
        if (self._damaged or is_short) and read < stop:
            for block in read_behind(self.inspection, self.layout, read):
                read += len(block)
                yield block
                if read >= stop:
                    break
        if not read:
            raise QseError(f"{self.name} holds no samples")
        if read >= stop and self._damaged:
            self.damage = f"{self.name} is damaged: {self._places or UNPLACED}"
        elif read < stop and (self._damaged or is_short):
            missing = missing_text(self.inspection, self._file, read, self._places)
            self.damage = f"{self.name} is damaged: {missing}"
        elif self._lacking:
            self.damage = f"{self.name} may be cut: {self._lacking}"
        self._file.close()  # the result may replace it, which Windows refuses while it is open

    def _read(self) -> Iterator[np.ndarray]:
        import soundfile

        # a request to stop is obeyed between two blocks
        frames = max(1024, BLOCK // self.layout.channels)
        size = 1024 if self._salvage else frames
        # not more than there are: libFLAC fails at tags behind its last frame
        rest = UNKNOWN_LENGTH if self.samples is None else self.samples
        is_in_vorbis_order = self.inspection.is_in_vorbis_order
        try:
            while rest > 0:
                block = self._file.read(min(size, rest), dtype="float32", always_2d=True)
                if not len(block):
                    break
                yield from_vorbis(block) if is_in_vorbis_order else block
                rest -= len(block)
        except soundfile.SoundFileError as error:
            raise _Undecodable from error


class _Undecodable(Exception):
    """The decoder failed before the end of the file."""


def _open(found: Inspection, name: str, salvage: bool) -> "tuple[SoundFile, str | None]":
    """Open a file; return it and how it is damaged, which only `salvage` lets pass."""
    import soundfile

    try:
        check_fork(found.path, name)
        file = open_sound(found)
        damage = damage_of(found, file)
        fault = None
        if found.is_unfinished(file) and not found.is_cut(file):
            if salvage:
                file.close()
                file = open_repaired(found.path)
        elif not damage or salvage:
            fault = _fault(found, file)
        if damage and not salvage:
            fault = f"{damage}; {SALVAGE}"
        if fault:
            file.close()
            partly = fault == MORE and found.is_read_in_part(file)
            raise (NotRead if partly else QseError)(f"{name} {fault}")
    except OSError as error:
        raise QseError(f"{name} cannot be read: {error.strerror}") from error
    except (soundfile.SoundFileError, TypeError) as error:
        reason = "is not an audio file that libsndfile reads, or its beginning is damaged"
        raise NotRead(f"{name} {reason}: try ffmpeg -i IN OUT.wav first") from error
    # soundfile would seek after every block, which causes clicks in MP3
    file.seekable = lambda: False
    return file, damage


def _fault(found: Inspection, file: "SoundFile") -> str | None:
    """Return what is wrong with a file that cannot be used at all."""
    if file.format == "RAW":  # by the suffix alone, as .au without its header
        return "is not an audio file, or its beginning is damaged: record or copy it again"
    if file.format == "SDS":  # libsndfile writes to standard output, and repeats what is there
        return "is a MIDI sample dump, whose damage nothing tells: convert it first"
    if found.has_more(file):
        return MORE
    if not file.frames:
        return "holds no samples"
    return rate_fault(file.samplerate)


def read_array(path: Path) -> tuple[np.ndarray, int]:
    """Read a whole file: (samples, channels) float32, full scale 1.0, and its sample rate.

    Raises as `held_input` and `blocks` do; warns of what may be missing, and of other sound tracks.
    """
    name = str(path)
    with held_input(path, name) as held, open_audio(held, name) as source:
        audio = np.concatenate(list(source.blocks()))
    if source.damage:
        warnings.warn(source.damage, stacklevel=2)
    if source.media and source.media.others:
        warnings.warn(f"{name}: {source.media.others}", stacklevel=2)
    return audio, source.layout.sample_rate
