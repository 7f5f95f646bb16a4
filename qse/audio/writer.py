"""Write audio files, whole or not at all (soundfile, libsndfile).

Blocks are float32 (samples, channels), full scale 1.0.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QseError
from .atomic_write import whole
from .containers import is_cut
from .formats import Layout, native
from .reader import UNKNOWN_LENGTH

if TYPE_CHECKING:
    from soundfile import SoundFile

SYSTEM_ERROR = 2  # libsndfile's code of what the system refused: at the first write most likely for want of room
UPDATE_HEADER_AUTO = 0x1061  # SFC_SET_UPDATE_HEADER_AUTO of sndfile.h
UNCLIPPED = ("PCM", "FLOAT", "DOUBLE", "VORBIS", "OPUS", "MPEG")  # libsndfile clips PCM, the others have room above
TOP = 1 - 2**-15  # full scale of the rest, telephone and dictaphone codes, in which what is beyond changes its sign


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
