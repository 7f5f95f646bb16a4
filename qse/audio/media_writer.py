"""Write videos and the sound files that libsndfile does not write (m4a, m4b, mka, weba) with the
program ffmpeg.

Sound tracks come back in their order, with their names, languages and marks. Pictures, subtitles,
chapters and tags are copied. Tags that state a loudness are left out.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..errors import QseError
from .chunk_copy import Copied
from .content import kind_of
from .ffmpeg import INPUT, last_message, program
from .formats import MEDIA, VIDEO, suffix_of
from .loudness import is_loudness
from .metadata_names import lost_names
from .mp4_items import copy_items
from .probe import Media, Track, probe

# AAC for other suffixes
ENCODERS = {
    "webm": "libopus",
    "weba": "libopus",
    "mkv": "flac",
    "mka": "flac",
}
LOSSLESS = {
    "mov": ("alac", "pcm_"),
    "mp4": ("alac",),
    "m4v": ("alac",),
    "m4a": ("alac",),
    "m4b": ("alac",),
}
USUAL_RATE = 192  # kbit/s, where the source does not say one
ITEMS = ("m4a", "m4b")  # files whose tags are copied byte by byte between each other
WITH_SUBTITLES = (*VIDEO, "mka")


@dataclass(frozen=True)
class Sound:
    """The enhanced samples of a track, in a file; `number`: of the track in the source, from 0."""

    number: int
    path: Path


def write_media(
    source: Path,
    media: Media,
    sounds: list[Sound],
    part: Path,
    target: Path,
    kbit: float | None = None,
) -> Copied:
    """Write `part`: what `source` holds, with `sounds` in place of their tracks.

    Other tracks are copied.

    `media`: what the source holds. `target`: the name that `part` will get; its suffix selects the
    format. `kbit`: bit rate of lossy tracks; that of the source if None. Return what is lost.
    Raises QseError if ffmpeg fails.
    """
    suffix = suffix_of(target)
    command = [program(str(target)), *INPUT, "-y", "-i", f"file:{source}"]
    for sound in sounds:
        command += ["-i", f"file:{sound.path}"]
    if suffix not in ("mka", "weba"):
        command += ["-map", "0:v?"]
    enhanced = {sound.number: place for place, sound in enumerate(sounds, start=1)}
    for number, track in enumerate(media.tracks):
        command += _track(number, track, enhanced.get(number), suffix, kbit)
    if suffix in WITH_SUBTITLES:
        command += ["-map", "0:s?"]
    dropped = list(filter(is_loudness, {**_first(media), **media.tags}))
    command += ["-c:v", "copy", "-c:s", "copy", *_metadata(media, dropped)]
    done = subprocess.run(
        [*command, "-f", MEDIA[suffix], f"file:{part}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    if done.returncode:
        reason = last_message(done.stderr) or f"status {done.returncode}"
        raise QseError(
            f"{target} could not be written by ffmpeg ({reason}): name an output that ends in .wav"
        )
    if suffix in ITEMS and kind_of(source) == "MP4":
        dropped += copy_items(source, part)
    return Copied(lost_names(source, media, probe(part)), dropped)


def clips(track: Track, suffix: str) -> bool:
    """Return whether the enhanced track cannot store samples beyond full scale."""
    return encoder(track, suffix) in ("alac", "flac") or encoder(track, suffix).startswith(
        ("pcm_s", "pcm_u")
    )


def encoder(track: Track, suffix: str) -> str:
    """Return the encoder of ffmpeg for an enhanced track: its own, if that is lossless and fits."""
    if track.is_lossless and track.codec.startswith(LOSSLESS.get(suffix, ())):
        return track.codec
    return ENCODERS.get(suffix, "aac")


def _track(
    number: int, track: Track, place: int | None, suffix: str, kbit: float | None
) -> list[str]:
    """Return the options for the sound track `number` of the output: input `place`, or the
    source if None."""
    described = [f"-map_metadata:s:a:{number}", f"0:s:a:{number}"]
    described += [f"-disposition:a:{number}", "+".join(track.marks) or "0"]
    for name in track.tags:
        if is_loudness(name):
            described += [f"-metadata:s:a:{number}", f"{name}="]
    if place is None:
        return ["-map", f"0:a:{number}", f"-c:a:{number}", "copy", *described]
    coding = encoder(track, suffix)
    options = ["-map", f"{place}:a", f"-c:a:{number}", coding]
    if coding in ("alac", "flac"):
        fine = track.bits > 16
        options += [f"-sample_fmt:a:{number}", _sample_format(coding, fine)]
        options += [f"-bits_per_raw_sample:a:{number}", "24" if fine else "16"]
    elif not coding.startswith("pcm_"):
        lossy = track.bit_rate / 1000 if track.bit_rate and not track.is_lossless else USUAL_RATE
        options += [f"-b:a:{number}", f"{round(kbit or lossy)}k"]
    return [*options, *described]


def _sample_format(coding: str, fine: bool) -> str:
    planar = "p" if coding == "alac" else ""
    return ("s32" if fine else "s16") + planar


def _metadata(media: Media, dropped: list[str]) -> list[str]:
    options = [
        "-map_chapters",
        "0",
        "-map_metadata",
        "0" if media.tags or not media.tracks else "0:s:a:0",
    ]
    if (
        not media.pictures
    ):  # of a sound file, whose chapters would be moved by the delay of its encoder
        options.append("-copyts")
    for name in dropped:
        options += ["-metadata", f"{name}="]
    return options


def _first(media: Media) -> dict[str, str]:
    return media.tracks[0].tags if media.tracks else {}
