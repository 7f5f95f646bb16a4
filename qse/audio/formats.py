"""Formats of audio files, by their suffix and by what libsndfile writes.

A format is the container (WAV, FLAC, OGG, ...), a subtype what the samples are coded as (PCM_16, VORBIS, ...).
"""

import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from ..errors import QseError

FORMATS = {
    **{"wav": "WAV", "wave": "WAV", "w64": "W64", "rf64": "RF64", "flac": "FLAC", "mp3": "MP3"},
    **{"ogg": "OGG", "oga": "OGG", "opus": "OGG", "aiff": "AIFF", "aif": "AIFF", "aifc": "AIFF"},
    **{"au": "AU", "snd": "AU", "caf": "CAF", "voc": "VOC", "sph": "NIST", "nist": "NIST"},
}

FOREIGN = ("m4a", "aac", "wma", "amr", "mka", "weba")  # sound that libsndfile does not read

BYTES = {"PCM_16": 2, "PCM_24": 3, "PCM_32": 4, "FLOAT": 4, "DOUBLE": 8}  # of a sample; others are smaller


def frame_bytes(channels: int, subtype: str) -> int:
    """Bytes of one sample of every channel; for a subtype that is not in BYTES at most so many."""
    return channels * BYTES.get(subtype, 1)


def format_of(path: Path) -> str | None:
    """The format that goes with the path's suffix, None for a suffix that is not in FORMATS."""
    return FORMATS.get(_suffix(path))


def named_format(target: Path) -> str:
    """The same; raises QseError if there is none."""
    form = format_of(target)
    if form is None:
        raise QseError(f"{target}: no audio format goes with this suffix; known are {', '.join(FORMATS)}")
    return form


def _suffix(path: Path) -> str:
    return path.suffix.lower().lstrip(".")


def _raise(error: QseError) -> None:
    raise error


def audio_below(
    folder: Path, refuse: Callable[[QseError], object] = _raise, suffixes: Collection[str] = FORMATS
) -> list[Path]:
    """The audio files in a folder and below it, known by their `suffixes`, sorted. Hidden files and folders, as macOS
    lays beside every other, are passed over, links to folders not followed. `refuse` hears of a folder that cannot be
    read; as it is, it raises.
    """

    def unread(error: OSError) -> None:
        refuse(QseError(f"{error.filename} cannot be read: {error.strerror}"))

    files = []
    for place, folders, names in os.walk(folder, onerror=unread):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(place, name) for name in names if not name.startswith(".")]
    files = [path for path in files if _suffix(path) in suffixes]
    return sorted(path for path in files if os.path.isfile(path))  # not where it may not be seen


def audio_within(folder: Path) -> list[Path]:
    """The same of a corpus, whose parts may lie on other disks: its sub-folders may be links."""
    links = [place for place in folder.glob("[!.]*") if place.is_symlink() and place.is_dir()]
    return sorted(path for place in (folder, *links) for path in audio_below(place))


def subtype_of(target: Path, wanted: str = "") -> str:
    """How `target`, whose suffix names a format, holds its samples: as `wanted` where it can, else as usual."""
    import soundfile

    form = format_of(target)
    if target.suffix.lower() == ".opus":
        return "OPUS"
    kept = form and not _is_foreign(wanted, form) and soundfile.check_format(form, wanted)
    return wanted if kept else soundfile.default_subtype(form)


def _is_foreign(subtype: str, form: str) -> bool:
    """MP3 in a WAV, say: libsndfile reads it, says that it is allowed, and does not write it."""
    return subtype.startswith("MPEG") and form != "MP3"


@dataclass(frozen=True)
class Layout:
    """What an audio file is beside its samples; `tags` are its title, artist and so on."""

    sample_rate: int
    channels: int
    format: str
    subtype: str
    endian: str
    tags: dict[str, str]

    @property
    def longest(self) -> float:
        """Samples per channel that a file may hold: WAV and AIFF count their bytes in 32 bits."""
        if self.format not in ("WAV", "WAVEX", "AIFF"):
            return math.inf
        return ((1 << 32) - (1 << 16)) // frame_bytes(self.channels, self.subtype)

    def to(self, target: Path, source: Path) -> "Layout":
        """The layout to write `target` in: this one where the suffix allows it, otherwise the nearest.

        Raises QseError if no format goes with the suffix.
        """
        if target.suffix.lower() == source.suffix.lower() and not _is_foreign(self.subtype, self.format):
            return self
        form = named_format(target)
        return Layout(self.sample_rate, self.channels, form, subtype_of(target, self.subtype), "FILE", self.tags)


def native(path: Path) -> str | bytes:
    """The path as soundfile takes it: it encodes a str strictly, and names of old disks are not all UTF-8."""
    return str(path) if os.name == "nt" else os.fsencode(path)
