"""Ask ffprobe, which comes with ffmpeg, what a file holds: sound tracks, tags, chapters, cover."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .chapters import Chapter
from .dates import joined, once
from .ffmpeg_input import input_file, program
from .ffmpeg_process import Done, run
from .probed import (
    coding_of,
    is_copied,
    is_cover,
    is_data,
    kind_of,
    moving_among,
    number_in,
    seconds_of,
    shown_from,
    shown_until,
    stated_seconds,
    tags_in,
)
from .tag_texts import recoded

LATE = 1.0  # seconds by which recordings of live pictures let the sound begin later
LEAST = 0.1  # seconds: more than the delay of any encoder, which counts as part of the sound
SURE = 50  # of 100: ffprobe's score for a file of which nothing but the suffix says what it is


@dataclass(frozen=True)
class Track:
    """A sound track.

    `bits`: of a sample, 0 for lossy codings; `bit_rate`: in bit/s, 0 if unknown; `positions`: of
    the channels, under ffmpeg's name for them, "" if unknown; `name`: that a person gave, else "";
    `begin`: seconds after the begin of the file. `index`: number among all tracks. `stated`: its
    length in seconds by the number of its frames; `lasts`: as ffprobe says it, from a header or by
    a guess. Both are 0 if unknown. `left_out`: seconds in front that ffmpeg does not decode.
    """

    codec: str
    sample_rate: int
    channels: int
    bits: int
    bit_rate: int
    tags: dict[str, str] = field(default_factory=dict)
    positions: str = ""
    name: str = ""
    begin: float = 0.0
    marks: tuple[str, ...] = ()  # default, comment, hearing_impaired, ...
    index: int = 0
    stated: float = 0.0
    lasts: float = 0.0
    left_out: float = 0.0

    @property
    def orders_channels(self) -> bool:
        """Return whether its coding has an order of the channels, into whose positions a decoder
        brings them."""
        return not self.codec.startswith(("pcm_", "adpcm_", "flac"))

    @property
    def is_lossless(self) -> bool:
        """Return whether the coding keeps every sample."""
        return self.codec in ("alac", "flac", "wavpack", "tta", "ape") or self.codec.startswith(
            "pcm_"
        )


@dataclass(frozen=True)
class Media:
    """The contents of a file.

    pictures: number of tracks. covers: number of attached pictures, which are not counted as
    `pictures`. subtitles: codings of their tracks. attachments: number of other attached files,
    such as fonts. data: number of tracks of other data, but for time codes and chapters. begin:
    seconds, of its time stamps. shown_from, shown_until: seconds after that, of the first and the
    last picture. copied: numbers, among all tracks, of those with pictures or sound of which
    ffprobe finds what it takes to copy them. recoded: tags whose bytes in the file are not UTF-8.
    picture_names, subtitle_names: as `Track.name`.
    """

    tracks: list[Track]
    tags: dict[str, str]
    chapters: list[Chapter]
    covers: int
    pictures: int
    subtitles: tuple[str, ...]
    attachments: int
    data: int
    seconds: float
    score: int
    begin: float = 0.0
    shown_from: float = 0.0
    shown_until: float = 0.0
    copied: tuple[int, ...] = ()
    recoded: dict[str, str] = field(default_factory=dict)
    picture_names: tuple[str, ...] = ()
    subtitle_names: tuple[str, ...] = ()

    @property
    def others(self) -> str | None:
        """Return in words that there are more sound tracks than the first, None if there are
        not."""
        count = len(self.tracks)
        return f"the first of its {count} sound tracks is read" if count > 1 else None

    @property
    def late(self) -> str | None:
        """Return in words that sound begins long after the picture, None if it does not."""
        begin = max((track.begin for track in self.tracks), default=0.0)
        is_late = self.pictures and begin > LATE
        return f"its sound begins {begin:.2f} s after the picture" if is_late else None


def probe(path: Path) -> Media | None:
    """Return what ffprobe finds in a file; None if it finds nothing, or is not installed."""
    return media_of(ask(path)) if program("ffprobe") else None


def media_of(done: Done) -> Media | None:
    """Return what ffprobe has printed, None if it has found nothing."""
    try:
        found = json.loads(done.output.decode("utf-8", "surrogateescape") or "{}")
    except ValueError:
        return None
    return _media(found) if found.get("format") else None


def ask(path: Path) -> Done:
    """Return what ffprobe prints about a file, JSON, and the reason if it reads none."""
    wanted = ("-show_streams", "-show_format", "-show_chapters", "-of", "json=sv=ignore")
    return run("ffprobe", [*wanted, *input_file(path)])


def _media(found: dict[str, Any]) -> Media:
    streams = found.get("streams", [])
    form = found["format"]
    begin = seconds_of(form)
    counts = Counter(map(kind_of, streams))
    covers = sum(map(is_cover, streams))
    has_own = bool(form.get("tags"))  # in Ogg, tags of the file are those of a track
    sounds = [stream for stream in streams if kind_of(stream) == "audio"]
    moving = moving_among(streams)
    texts = [stream for stream in streams if kind_of(stream) == "subtitle"]
    return Media(
        tracks=[_track(stream, has_own, begin) for stream in sounds],
        tags=joined(once(tags_in(form))),
        chapters=[_chapter(chapter, begin) for chapter in found.get("chapters", [])],
        covers=covers,
        pictures=counts["video"] - covers,
        subtitles=tuple(map(coding_of, texts)),
        attachments=counts["attachment"],
        data=sum(map(is_data, streams)),
        seconds=float(form.get("duration", 0)),
        score=int(form.get("probe_score", 0)),
        begin=begin,
        shown_from=shown_from(moving, begin),
        shown_until=shown_until(moving, begin),
        copied=tuple(number_in(stream, "index") for stream in streams if is_copied(stream)),
        picture_names=tuple(_name(tags_in(stream)) for stream in moving),
        subtitle_names=tuple(_name(tags_in(stream)) for stream in texts),
        recoded=recoded(form.get("tags") or (sounds[0].get("tags", {}) if sounds else {})),
    )


def _chapter(found: dict[str, Any], begin: float) -> Chapter:
    """Return a chapter of a file whose time stamps begin at `begin` seconds, from where it counts
    in a file that is made of it."""
    passed = begin if begin >= LEAST else 0.0
    start = max(0.0, float(found.get("start_time", 0)) - passed)
    end = max(start, float(found.get("end_time", 0)) - passed)
    return Chapter(start, end, tags_in(found))


def _track(stream: dict[str, Any], has_own_tags: bool, start: float) -> Track:
    """Return a track of a file whose time stamps begin at `start` seconds."""
    bits = number_in(stream, "bits_per_raw_sample") or number_in(stream, "bits_per_sample")
    marks = [name for name, is_set in stream.get("disposition", {}).items() if is_set]
    rate = number_in(stream, "sample_rate")
    return Track(
        codec=coding_of(stream),
        sample_rate=rate,
        channels=number_in(stream, "channels"),
        bits=bits,
        bit_rate=number_in(stream, "bit_rate"),
        tags=tags_in(stream),
        positions=stream.get("channel_layout", ""),
        name=_name(tags_in(stream)) if has_own_tags else "",
        begin=max(0.0, seconds_of(stream) - start),
        marks=tuple(marks),
        index=number_in(stream, "index"),
        stated=stated_seconds(stream),
        lasts=float(stream.get("duration", 0)),
        left_out=number_in(stream, "initial_padding") / max(1, rate),
    )


def _name(tags: dict[str, str]) -> str:
    """Return the name of a track: in MP4, programs write one where there is none."""
    handler = tags.get("handler_name", "")
    return tags.get("title") or ("" if handler.lower().endswith("handler") else handler)
