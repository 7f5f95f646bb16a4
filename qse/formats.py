"""Formats of audio files, by their suffix and by what libsndfile writes.

A format is the container (WAV, FLAC, OGG, ...), a subtype what the samples are coded as (PCM_16, VORBIS, ...).
"""

from dataclasses import dataclass
from pathlib import Path

from .errors import QseError

FORMATS = {
    **{"wav": "WAV", "wave": "WAV", "w64": "W64", "rf64": "RF64", "flac": "FLAC", "mp3": "MP3"},
    **{"ogg": "OGG", "oga": "OGG", "opus": "OGG", "aiff": "AIFF", "aif": "AIFF", "aifc": "AIFF"},
    **{"au": "AU", "snd": "AU", "caf": "CAF", "voc": "VOC", "sph": "NIST", "nist": "NIST"},
}


def format_of(path: Path) -> str | None:
    """The format that goes with the path's suffix, None for a suffix that is not in FORMATS."""
    return FORMATS.get(path.suffix.lower().lstrip("."))


def audio_below(folder: Path) -> list[Path]:
    """The audio files in a folder and below it, sorted; a hidden one, as macOS lays beside every other, is none."""
    files = (path for path in folder.rglob("[!.]*") if format_of(path) and path.is_file())
    return sorted(files)


def subtype_of(target: Path, wanted: str = "") -> str:
    """How `target`, whose suffix names a format, holds its samples: as `wanted` where it can, else as usual."""
    import soundfile

    form = format_of(target)
    if target.suffix.lower() == ".opus":
        return "OPUS"
    written = not wanted.startswith("MPEG") or form == "MP3"  # libsndfile says that a WAV may hold MP3, and refuses it
    return wanted if written and soundfile.check_format(form, wanted) else soundfile.default_subtype(form)


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
