"""Write audio files atomically (soundfile, libsndfile).

Blocks are float32 (samples, channels), full scale 1.0.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QseError
from .atomic_write import claimed_path
from .channel_order import stored
from .checks import BLOCK
from .claim import Claimed
from .content import inspect
from .file_mode import Source
from .flac import Flac
from .formats import Layout, native
from .private_folder import unseen_temporary
from .reader import UNKNOWN_LENGTH

if TYPE_CHECKING:
    from soundfile import SoundFile

# libsndfile's code for an error of the system: at the first write most likely a full disk

SYSTEM_ERROR = 2
FLAC_FINE = 65535  # Hz: above, only multiples of 10 Hz
FLAC_MOST = 655350  # Hz
UPDATE_HEADER_AUTO = 0x1061  # SFC_SET_UPDATE_HEADER_AUTO of sndfile.h
CLIPPED = "PCM"  # by libsndfile itself
# largest sample of other subtypes (mu-law, ADPCM, ...): larger ones would change their sign
TOP = 1 - 2**-15
ON_WINDOWS = os.name == "nt"
DEVICE = re.compile(r"(con|prn|aux|nul|com[1-9]|lpt[1-9])", re.IGNORECASE)


def write(
    target: Path,
    blocks: Iterable[np.ndarray],
    layout: Layout,
    overwrite: bool = False,
    keep_partial: bool = False,
    finish: Callable[[Path, int], object] = lambda part, samples: None,
    source: Source | None = None,
    is_named: bool = False,
) -> int:
    """Write the blocks to `target` and return the samples per channel.

    The file appears when it is complete.

    keep_partial: on a full disk, keep what was written, for sound that cannot be recorded again;
    QseError says so. finish: called with the temporary file and its samples per channel before it
    appears, to add metadata. source: a file whose permissions the target does not exceed, or
    OWNER_ALONE. is_named: a person named `target`; see `target_folder`.

    Samples beyond full scale are clipped where the format cannot hold them. Raises QseError if the
    target exists and `overwrite` is false, or cannot be written. An exception from `blocks` passes
    through; nothing is left on the disk.
    """
    import soundfile

    written = 0
    fault = None
    limited = layout.clips and not layout.subtype.startswith(CLIPPED)
    with atomic_target(target, overwrite, source=source, is_named=is_named) as part:
        try:
            with _create(part, layout, target) as file:
                if keep_partial:
                    update_header(file)
                for block in blocks:
                    written += len(block)
                    if written > layout.longest:
                        raise QseError(
                            f"{target}: a {layout.format} file cannot be so long; name a .rf64 file"
                        )
                    block = stored(block, layout.format)
                    file.write(block.clip(-1, TOP) if limited else block)
        except (soundfile.SoundFileError, AssertionError) as error:
            fault = error
        if not fault:
            finish(part, written)
        held, ends, rate = _held(part)  # a failure on closing shows only here
        if held and rate != layout.sample_rate:
            what = f"{layout.format} ({layout.subtype}) holds {rate} Hz instead of"
            cure = "name an output that ends in .wav"
            raise QseError(f"{target}: {what} {layout.sample_rate}; {cure}")
        full = fault or held < written or not ends
        if full and not (keep_partial and held):
            raise QseError(_full(target)) from fault
    if full:
        raise QseError(
            f"{target} ends early: is the disk full? What was written so far is kept"
        ) from fault
    return written


def check_target(target: Path, overwrite: bool) -> None:
    """Raise QseError if `target` exists and is not a file, or may not be replaced, and on Windows
    for the name of a device, whatever its suffix."""
    if ON_WINDOWS and DEVICE.fullmatch(target.name.split(".")[0].rstrip()):
        raise QseError(f"{target} is the name of a device on Windows: name another output")
    if target.exists() and not target.is_file():
        raise QseError(f"{target} is not a regular file: name another output")
    if target.exists() and not overwrite:
        raise QseError(_taken(target))


def update_header(file: "SoundFile") -> None:
    """Let libsndfile update the header of `file` after every block.

    Without this, the header of a WAV file says that it is empty if the program is killed.
    """
    import soundfile

    if (
        file.subtype == "VORBIS"
    ):  # libsndfile restarts the encoder at every update: the file would hold only headers
        return
    with suppress(AttributeError):  # soundfile has no public name for this command
        soundfile._snd.sf_command(file._file, UPDATE_HEADER_AUTO, soundfile._ffi.NULL, 1)


def _create(part: Path, layout: Layout, target: Path) -> "SoundFile":
    import soundfile

    rate = layout.sample_rate
    if layout.format == "FLAC" and (rate > FLAC_MOST or (rate > FLAC_FINE and rate % 10)):
        raise QseError(f"{target}: FLAC cannot hold {rate} Hz; name an output that ends in .wav")
    try:
        with unseen_temporary(layout.subtype):
            file = soundfile.SoundFile(native(part), "w", rate, layout.channels, **layout.coding)
    except (soundfile.SoundFileError, ValueError) as error:
        if getattr(error, "code", 0) == SYSTEM_ERROR:
            raise QseError(_full(target)) from error
        kind = f"{layout.format} ({layout.subtype})"
        what = f"{kind} at {layout.sample_rate} Hz with {layout.channels} channels"
        raise QseError(
            f"{target}: libsndfile does not write {what}; name an output that ends in .wav"
        ) from error
    for tag, text in layout.tags.items():
        if text:
            with suppress(soundfile.SoundFileError):  # not every format stores every tag
                setattr(file, tag, text)
    return file


def _held(path: Path) -> tuple[int, bool, int]:
    """Return the samples per channel that can be read, 0 if it is no audio file, whether it is
    complete, and its sample rate."""
    import soundfile

    try:
        with soundfile.SoundFile(native(path)) as file:
            if not file.frames < UNKNOWN_LENGTH:
                return file.frames, False, file.samplerate
            found = inspect(path)
            is_whole = not found.is_cut(file)
            if file.format == "MP3":  # whose first frame states all that were encoded
                is_whole &= found.hidden_damage(file) is None
            if isinstance(found, Flac) and file.frames:  # whose last frame may not be there
                # which libsndfile does not find by its place behind an ID3 tag
                place = 0 if found.tags.front else file.frames - 1
                file.seek(place)
                is_whole &= sum(map(len, file.blocks(BLOCK))) == file.frames - place
            return file.frames, is_whole, file.samplerate
    except soundfile.SoundFileError:
        return 0, False, 0


def write_samples(part: Path, audio: np.ndarray, sample_rate: int, **coding: str) -> None:
    """Write (samples,) or (samples, channels) at once, as `soundfile.write` does; coding: format=
    and subtype=. Raises OSError where they are not all there then."""
    import soundfile

    soundfile.write(native(part), audio, sample_rate, **coding)
    check_written(part, len(audio))


def check_written(path: Path, samples: int) -> None:
    """Raise OSError unless a file that `soundfile.write` has closed, which reports no failure then,
    holds `samples` per channel."""
    held, is_whole, _ = _held(path)
    if held < samples or not is_whole:
        raise OSError(ENOSPC, "it ends early: is the disk full?")


@contextmanager
def atomic_target(
    target: Path, overwrite: bool, *, source: Source | None, is_named: bool = False
) -> Iterator[Path]:
    """Yield a temporary path for `target`, as `claimed_path`, and turn its errors into QseError."""
    try:
        check_target(target, overwrite)
        with claimed_path(target, overwrite, source=source, is_named=is_named) as part:
            yield part
    except Claimed as error:
        cure = "wait for its end, or name another output"
        raise QseError(f"{target} is being written by another process: {cure}") from error
    except FileExistsError as error:
        raise QseError(_taken(target)) from error
    except NotADirectoryError as error:
        raise QseError(
            f"{target} cannot be written: {error.filename} is no folder; name another output"
        ) from error
    except OSError as error:
        raise QseError(
            f"{target} cannot be written: {error.strerror}; name another output"
        ) from error


class _Discarded(Exception):
    """The temporary file of a trial is not wanted."""


def try_target(target: Path, overwrite: bool) -> None:
    """Make the folder of `target`. Raises QseError if `target` could not be written there."""
    with suppress(_Discarded), atomic_target(target, overwrite, source=None, is_named=True):
        raise _Discarded


def _taken(target: Path) -> str:
    return f"{target} exists already: name another output, or use overwrite=True"


def _full(target: Path) -> str:
    return (
        f"{target} could not be written to its end: is the disk full? "
        "Make room and try again; no partial file was left"
    )
