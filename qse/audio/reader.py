"""Read audio files in blocks: with libsndfile, or with ffmpeg for formats that libsndfile does not
support.

Blocks are float32 (samples, channels), full scale 1.0.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import QseError
from .channel_mask import read_mask
from .checks import BLOCK, SALVAGE, check_file, checked, rate_fault
from .containers import exact_frames, has_more, has_tracks, is_cut, says_length
from .content import OF_FFMPEG, kind_of
from .formats import FOREIGN, Layout, native, suffix_of
from .integrity import hidden_damage, missing_at_end
from .probe import Media
from .salvage import is_unfinished_wav, missing_text, open_repaired

if TYPE_CHECKING:
    from soundfile import SoundFile

UNKNOWN_LENGTH = 1 << 62  # libsndfile returns more than this for a FLAC file without a length
HIDDEN = "is damaged: "  # before places that the decoder does not report
MORE = (
    "holds more than libsndfile reads of it: convert it to WAV with ffmpeg, or take it apart, first"
)


class AudioReader(Protocol):
    """An audio file open for reading; a context manager.

    `samples`: length per channel, None if unknown before the end. `damage`: what is wrong with a
    salvaged file, in words, once all blocks are read; None if nothing is. `media`: what ffprobe
    found in a file that ffmpeg reads; None for other files. `channel_mask`: positions of the
    channels, as WAVE_FORMAT_EXTENSIBLE has them; None if unknown.
    """

    layout: Layout
    samples: int | None
    damage: str | None
    media: Media | None
    channel_mask: int | None

    def __enter__(self) -> "AudioReader": ...

    def __exit__(self, *_: object) -> None: ...

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield all samples in blocks (samples, channels).

        Raises QseError for damage and for unusable samples.
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
    from .ffmpeg import FfmpegSource, readable

    if is_foreign(path):
        return FfmpegSource(path, name, salvage, track)
    try:
        source = Source(path, name, salvage)
    except NotRead:
        media = readable(path, name or str(path), salvage)
        if media is None:
            raise
        return FfmpegSource(path, name, salvage, track, media)
    if track > 1:
        source.__exit__()
        raise QseError(f"{source.name} has no sound track {track}: it has 1")
    return source


def is_foreign(path: Path) -> bool:
    """Return whether only ffmpeg can read a file: by its content or, where that says nothing, by
    its suffix."""
    try:
        kind = kind_of(path)
    except OSError:
        kind = None
    return kind in OF_FFMPEG if kind else suffix_of(path) in FOREIGN


class Source:
    """Read an audio file with libsndfile; see AudioReader."""

    def __init__(self, path: Path, name: str | None = None, salvage: bool = False):
        """See `open_audio`."""
        self.path = path
        self.name = name or str(path)
        self._salvage = salvage
        self.damage: str | None = None
        self.media: Media | None = None
        file, fault = _open(path, self.name, salvage)
        self._damaged = fault is not None
        self._places = fault.removeprefix(HIDDEN) if fault and fault.startswith(HIDDEN) else ""
        self._file = file
        self._lacking = missing_at_end(path, file)
        self.layout = Layout(
            file.samplerate,
            file.channels,
            file.format,
            file.subtype,
            file.endian,
            file.copy_metadata(),
        )
        known = file.frames < UNKNOWN_LENGTH and says_length(path, file)
        self.samples = exact_frames(path, file) if known else None
        self.channel_mask = read_mask(path)

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield all samples in turn; see AudioReader."""
        read = 0
        try:
            for block in checked(self._read(), self.name, self.layout.sample_rate):
                read += len(block)
                yield block
        except _Undecodable as error:
            if not self._salvage:
                reason = "it cannot be decoded to its end"
                raise QseError(
                    f"{self.name} is damaged or cut short: {reason}; {SALVAGE}"
                ) from error
            self._damaged = True
        if self.samples is not None and read < self.samples and not self._salvage:
            short = f"{self.samples} samples are announced, {read} are there"
            raise QseError(f"{self.name} is cut short: {short}; {SALVAGE}")
        if not read:
            raise QseError(f"{self.name} holds no samples")
        if self._damaged or (self.samples is not None and read < self.samples):
            places = f" ({self._places})" if self._places else ""
            missing = missing_text(self.path, self._file, read)
            self.damage = f"{self.name} is damaged: {missing}{places}"
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
        try:
            while rest > 0:
                block = self._file.read(min(size, rest), dtype="float32", always_2d=True)
                if not len(block):
                    break
                yield block
                rest -= len(block)
        except soundfile.SoundFileError as error:
            raise _Undecodable from error


class _Undecodable(Exception):
    """The decoder failed before the end of the file."""


def _open(path: Path, name: str, salvage: bool) -> "tuple[SoundFile, str | None]":
    """Open `path`; return the file and how it is damaged, which only `salvage` lets pass."""
    import soundfile

    try:
        check_file(path, name)
        file = soundfile.SoundFile(native(path))
        damage = _damage(path, file)
        fault = None
        if is_unfinished_wav(path, file) and not is_cut(path, file):
            if salvage:
                file.close()
                file = open_repaired(path)
        elif not damage or salvage:
            fault = _fault(path, file)
        if damage and not salvage:
            fault = f"{damage}; {SALVAGE}"
        if fault:
            file.close()
            of_ffmpeg = file.subtype == "MPEG_LAYER_III" or (
                file.format == "OGG" and has_tracks(path)
            )
            partly = of_ffmpeg and fault == MORE
            raise (NotRead if partly else QseError)(f"{name} {fault}")
    except FileNotFoundError as error:
        raise QseError(f"{name}: no such file") from error
    except OSError as error:
        raise QseError(f"{name} cannot be read: {error.strerror}") from error
    except (soundfile.SoundFileError, TypeError) as error:
        reason = "is not an audio file that libsndfile reads, or its beginning is damaged"
        raise NotRead(f"{name} {reason}: try ffmpeg -i IN OUT.wav first") from error
    # soundfile would seek after every block, which causes clicks in MP3
    file.seekable = lambda: False
    return file, damage


def _damage(path: Path, file: "SoundFile") -> str | None:
    """Return what is wrong with a file that can be salvaged."""
    if is_cut(path, file):
        return "is cut short: its end is missing; record or copy it again"
    if is_unfinished_wav(path, file):
        reason = "its header is unfinished, as after a crash of the recorder"
        return f"holds more than libsndfile reads of it: {reason}"
    hidden = None if has_more(path, file) else hidden_damage(path, file)
    return f"{HIDDEN}{hidden}" if hidden else None


def _fault(path: Path, file: "SoundFile") -> str | None:
    """Return what is wrong with a file that cannot be used at all."""
    if file.format == "RAW":  # by the suffix alone, as .au without its header
        return "is not an audio file, or its beginning is damaged: record or copy it again"
    if has_more(path, file):
        return MORE
    if not file.frames:
        return "holds no samples"
    return rate_fault(file.samplerate)


def read_array(path: Path) -> tuple[np.ndarray, int]:
    """Read a whole file: (samples, channels) float32, full scale 1.0, and its sample rate.

    Raises as `blocks` does.
    """
    with open_audio(path) as source:
        return np.concatenate(list(source.blocks())), source.layout.sample_rate
