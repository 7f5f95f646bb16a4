"""Find what a file is by its first bytes, and whether its suffix says the same."""

import stat
from pathlib import Path
from typing import IO

from ..errors import QseError
from .adts import Adts
from .aiff import Aiff
from .avi import Avi
from .caf import Caf
from .checks import check_file
from .flac import Flac
from .flv import Flv
from .foreign import Foreign
from .formats import suffix_of
from .gsm import Gsm
from .id3_frames import tag_size
from .inspection import HEAD, Inspection
from .matroska import Matroska
from .mp2 import Mp2
from .mp3 import Mp3
from .mp3_frames import has_frames
from .mp4 import Mp4
from .ogg import Ogg, OtherOgg
from .plain import Au, Nist
from .suffixes import HEADERLESS, SUFFIXES
from .tta import Tta
from .voc import Voc
from .wav import Wav

FAMILIES: tuple[type[Inspection], ...] = (
    *(Wav, Aiff, Caf, Flac, Ogg, OtherOgg, Mp4, Matroska, Au, Voc, Nist),
    *(Adts, Avi, Flv, Tta, Gsm, Foreign, Mp2, Mp3),
)
LATEST = 1 << 16  # bytes in which MP3 frames begin


def inspect(path: Path) -> Inspection:
    """Return what a file is, by its content. Raises OSError."""
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for its other end
        return Inspection(path, None, path.stat())
    with path.open("rb") as file:
        found = _found(path, file)
        found.hold(file)
    return found


def _found(path: Path, file: IO[bytes]) -> Inspection:
    """Return what an open file is."""
    head = file.read(HEAD)
    tag = tag_size(head)
    if not tag:
        family, kind = _recognised(head)
        if kind is None:
            family, kind = _by_suffix(suffix_of(path), file)
        return family.of(path, kind, file, head)
    file.seek(tag)
    family, kind = _recognised(file.read(HEAD))
    if kind is None:
        family = Mp3
    return family.of(path, kind or "MP3", file, b"")


def _by_suffix(suffix: str, file: IO[bytes]) -> tuple[type[Inspection], str | None]:
    """Return what a file is that begins like none: one of frames without a header of the file, as
    it is recorded from the middle of a frame on."""
    if suffix == "aac":
        return Adts, Adts.family
    if suffix == "gsm":
        return Gsm, Gsm.family
    file.seek(0)
    if suffix == "mp3" and has_frames(file.read(LATEST)):  # libsndfile reads it by its suffix
        return Mp3, Mp3.family
    return Inspection, None


def inspected(path: Path, name: str) -> Inspection:
    """Return what a file is. Raises QseError if it cannot be read or is empty."""
    try:
        check_file(path, name)
        return inspect(path)
    except FileNotFoundError as error:
        raise QseError(f"{name}: no such file") from error
    except OSError as error:
        raise QseError(f"{name} cannot be read: {error.strerror}") from error


def _recognised(head: bytes) -> tuple[type[Inspection], str | None]:
    for family in FAMILIES:
        if kind := family.recognise(head):
            return family, kind
    return Inspection, None


def family_named(name: str | None) -> type[Inspection]:
    """Return the class for files of a family, as a Layout names it."""
    return next((family for family in FAMILIES if family.family == name), Inspection)


def kind_of(path: Path) -> str | None:
    """Return the kind of a file by its content; None if it begins like none that is known.

    Raises OSError.
    """
    return inspect(path).kind


def wrong_suffix(path: Path, kind: str | None) -> bool:
    """Return whether the suffix of a file of this kind stands for other kinds."""
    row = SUFFIXES.get(suffix_of(path))
    return kind is not None and row is not None and kind not in row.kinds


def no_header(path: Path) -> str:
    """Say how a file of samples alone becomes a recording; its suffix is one of HEADERLESS."""
    how = f"ffmpeg -f {HEADERLESS[suffix_of(path)]} -ar 8000 -i IN OUT.wav"
    return (
        "has no header that says how its samples are coded: convert it first, "
        f"a telephone call at 8 kHz for example by {how}"
    )
