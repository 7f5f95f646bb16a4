"""Find formats of audio files: by suffix, and as libsndfile writes them.

A format is the container (WAV, FLAC, OGG, ...), a subtype the coding of its samples (PCM_16,
VORBIS, ...).
"""

import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import QseError
from .suffixes import FORMATS, MEDIA, WRITTEN

# demuxers of ffmpeg that may read a file: those that open no other file, as playlists do
DEMUXERS = (
    *("aac", "ac3", "aiff", "amr", "amrnb", "amrwb", "ape", "asf", "au", "avi", "caf", "dsf"),
    *("dts", "eac3", "flac", "flv", "gsm", "loas", "matroska", "mov", "mp3", "mpeg", "mpegts"),
    *("mxf", "nistsphere", "ogg", "sox", "tak", "tta", "voc", "w64", "wav", "wv"),
)

# formats that files with a suffix for the first one may have
HELD = {"WAV": ("WAV", "WAVEX", "RF64")}
# whose metadata have the same form
FAMILIES = {
    "WAVEX": "WAV",
    "RF64": "WAV",
    "W64": "WAV",
    "OGG": "Ogg",
}
NEAREST = {  # subtypes of more than 16 bits: what comes nearest, where a format does not have them
    **dict.fromkeys(("FLOAT", "DOUBLE", "PCM_32", "ALAC_32"), ("PCM_32", "PCM_24")),
    **dict.fromkeys(("ALAC_24", "ALAC_20", "PCM_24"), ("PCM_24",)),
}
RATES = {  # in Hz; other codings hold any
    "OPUS": (8000, 12000, 16000, 24000, 48000),
    "MPEG_LAYER_III": (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000),
}
ALAC_PACKET = 4096  # samples per channel
HIGHEST = {"VORBIS": 192000}  # Hz; its encoder ends the process above 200,000
MOST_METADATA = 32 << 20  # bytes that are copied; a hostile file may state any
UNCLIPPED = ("FLOAT", "DOUBLE", "VORBIS", "OPUS", "MPEG")  # store samples beyond full scale
# per sample; other subtypes need less
BYTES = {
    **dict.fromkeys(("PCM_S8", "PCM_U8", "ULAW", "ALAW"), 1),
    "PCM_16": 2,
    "PCM_24": 3,
    "PCM_32": 4,
    "FLOAT": 4,
    "DOUBLE": 8,
}

MOST_BYTES = {  # of samples; the count of WAV and AIFF has 32 bits, that of a block of VOC 24
    **dict.fromkeys(("WAV", "WAVEX", "AIFF"), (1 << 32) - (1 << 16)),
    "VOC": (1 << 24) - (1 << 8),
}


def frame_bytes(channels: int, subtype: str) -> int:
    """Return the bytes of one sample of every channel; for a subtype that is not in BYTES an
    upper bound."""
    return channels * BYTES.get(subtype, 1)


def suffix_of(path: Path) -> str:
    """Return the path's suffix in lower case, without the dot."""
    return path.suffix.lower().lstrip(".")


def format_of(path: Path) -> str | None:
    """Return the format for the path's suffix, None for a suffix that is not in FORMATS."""
    return FORMATS.get(suffix_of(path))


def named_format(target: Path) -> str:
    """Return the format for the path's suffix. Raises QseError if there is none."""
    form = format_of(target)
    media = MEDIA.get(suffix_of(target))
    if media and media.is_video:
        cure = "name an output for sound, such as .m4a, .mka or .weba"
        raise QseError(f"{target}: no video can be made of sound alone; {cure}")
    if form is None:
        known = ", ".join(FORMATS if media else WRITTEN)
        reason = (
            "qse denoise alone writes such files" if media else "no audio format has this suffix"
        )
        raise QseError(f"{target}: {reason}; known are {known}")
    return form


def _raise(error: QseError) -> None:
    raise error


def audio_below(
    folder: Path, suffixes: Collection[str], refuse: Callable[[QseError], object] = _raise
) -> list[Path]:
    """Return the files in `folder` and below whose suffix is in `suffixes`, sorted; see
    `files_below`."""
    return files_below(folder, lambda path: suffix_of(path) in suffixes, refuse)


def files_below(
    folder: Path, wanted: Callable[[Path], bool], refuse: Callable[[QseError], object] = _raise
) -> list[Path]:
    """Return the files in `folder` and below that are `wanted`, sorted.

    Hidden files and folders are skipped (macOS puts a hidden file beside each other file), links to
    folders are not followed. `refuse` is called with the error for a folder that cannot be read;
    the default raises it.
    """

    def unread(error: OSError) -> None:
        refuse(QseError(f"{error.filename} cannot be read: {error.strerror}"))

    found = []
    for place, folders, names in os.walk(folder, onerror=unread):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(place, name)
            # isfile is false also where permission is missing
            if not name.startswith(".") and wanted(path) and os.path.isfile(path):
                found.append(path)
    return sorted(found)


def audio_within(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """Return the audio files of a corpus: as `audio_below`, but links to folders in `folder` are
    followed."""
    found = audio_below(folder, suffixes)
    for place in folder.glob("[!.]*"):
        if place.is_symlink() and place.is_dir():
            found += audio_below(place, suffixes)
    return sorted(found)


def subtype_of(target: Path, wanted: str = "") -> str:
    """Return the subtype for `target`, whose suffix names a format: `wanted`, or the nearest
    that fits."""
    import soundfile

    form = named_format(target)
    if target.suffix.lower() == ".opus":
        return "OPUS"
    if form == "VOC" and wanted == "PCM_U8":  # with which it holds few sample rates
        wanted = "PCM_16"
    for subtype in (wanted, *NEAREST.get(wanted, ())):
        if not _is_foreign(subtype, form) and soundfile.check_format(form, subtype):
            return subtype
    return soundfile.default_subtype(form)


def held_rate(subtype: str, sample_rate: int) -> int:
    """Return the lowest sample rate in Hz from `sample_rate` up that a coding holds, else its
    highest."""
    rates = RATES.get(subtype, (min(sample_rate, HIGHEST.get(subtype, sample_rate)),))
    return min((rate for rate in rates if rate >= sample_rate), default=max(rates))


def _is_foreign(subtype: str, form: str) -> bool:
    """Return whether it is MP3 in another container, which libsndfile accepts but does not
    write."""
    return subtype.startswith("MPEG") and form != "MP3"


@dataclass(frozen=True)
class Layout:
    """The properties of an audio file apart from its samples; `tags` are title, artist and so on.

    `settings`: further arguments of soundfile.SoundFile for a file with this layout, as for its bit
    rate.
    """

    sample_rate: int
    channels: int
    format: str
    subtype: str
    endian: str
    tags: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def coding(self) -> dict[str, Any]:
        """Return the arguments with which soundfile writes a file with this layout, but for the
        sample rate and the channels."""
        form = {"subtype": self.subtype, "endian": self.endian, "format": self.format}
        return {**form, **self.settings}

    @property
    def family(self) -> str:
        """Return the format, the same for all formats whose metadata have the same form."""
        return FAMILIES.get(self.format, self.format)

    @property
    def clips(self) -> bool:
        """Return whether samples beyond full scale cannot be stored."""
        return not self.subtype.startswith(UNCLIPPED)

    @property
    def longest(self) -> float:
        """Return the most samples per channel that a file can hold."""
        most = MOST_BYTES.get(self.format)
        return most // frame_bytes(self.channels, self.subtype) if most else math.inf

    @property
    def _overflows(self) -> bool:
        """Return whether libsndfile writes the sizes of packets behind the end of their table: it
        reserves two bytes for each, and packets of this size need three."""
        bits = int(self.subtype[5:]) if self.subtype.startswith("ALAC") else 0
        return ALAC_PACKET * self.channels * bits // 8 >= 1 << 14

    def to(self, target: Path) -> "Layout":
        """Return the layout for `target`, made from a file with this one: the same, or the nearest
        for its suffix.

        Raises QseError if no format has the suffix.
        """
        form = named_format(target)
        wanted = NEAREST.get(self.subtype, ("PCM_16",))[0] if self._overflows else self.subtype
        held = replace(self, subtype=wanted)
        fits = self.format in HELD.get(form, (form,)) and not _is_foreign(wanted, self.format)
        is_opus = suffix_of(target) == "opus"
        if fits and (not is_opus or wanted == "OPUS"):
            return held
        subtype = subtype_of(target, wanted)
        rate = held_rate(subtype, self.sample_rate)
        return Layout(rate, self.channels, form, subtype, "FILE", self.tags)


def conversion_text(target: Path, layout: Layout, sample_rate: int) -> str | None:
    """Return in words that sound at this rate is written at another one, None if it is not."""
    if sample_rate == layout.sample_rate:
        return None
    coding = layout.subtype.replace("_", " ")
    return f"{target}: {coding} cannot hold {sample_rate} Hz: converted to {layout.sample_rate} Hz"


def native(path: Path) -> str | bytes:
    """Return the path for soundfile, which encodes str strictly: names on old disks are not all
    UTF-8. To libsndfile, the name "-" alone is the standard input."""
    full = os.path.join(os.curdir, path)
    return full if os.name == "nt" else os.fsencode(full)
