"""Write videos and the sound files that libsndfile does not write (m4a, m4b, mka, weba) with the
program ffmpeg.

Sound tracks come back in their order, with their names, languages and marks. Pictures, subtitles,
attachments, chapters and tags are copied. Tags that state a loudness are left out.
"""

from dataclasses import dataclass
from pathlib import Path

from ..errors import QseError
from .channel_order import EXCHANGED, SUPPOSED
from .chapters import chapter_options
from .content import inspect
from .copied import Copied
from .dates import date_options
from .ffmpeg import FfmpegDecoder
from .ffmpeg_input import input_file
from .ffmpeg_process import run, write_file
from .formats import suffix_of
from .inspection import Inspection
from .loudness import is_loudness
from .metadata_names import lost_beside, lost_names
from .mp4 import form_options
from .probe import LEAST, Media, Track
from .subtitles import name_options, subtitle_options
from .suffixes import MEDIA, MediaForm
from .tag_texts import recoded_options
from .time_stamps import CLOSING, all_tracks
from .track_changes import changed

DEPTHS = {  # sample formats for 16 and 24 bits
    "flac": ("s16", "s32"),
    "alac": ("s16p", "s32p"),
    "tta": ("s16", "s32"),
    "wavpack": ("s16p", "s32p"),
}
SHORT = 0.1  # seconds by which a track may end early
USUAL_RATE = 192  # kbit/s, where the source does not say one


@dataclass(frozen=True)
class Sound:
    """The enhanced samples of a track, in a file; `number`: of the track in the source, from 0;
    `seconds`: how long they are."""

    number: int
    path: Path
    seconds: float


def write_media(
    source: Inspection,
    sounds: list[Sound],
    part: Path,
    target: Path,
    kbit: float | None = None,
) -> Copied:
    """Write `part`: what `source` holds, with `sounds` in place of their tracks.

    Other tracks are copied.

    `target`: the name that `part` will get; its suffix selects the format. `kbit`: bit rate of
    lossy tracks; that of the source if None. Return what is lost. Temporary files go to the folder
    of the sounds. Raises QseError if ffmpeg fails, or has not written all.
    """
    form = MEDIA[suffix_of(target)]
    media = source.media
    assert media
    folder = sounds[0].path.parent
    # MPEG-PS has pictures without a time of their own, which Matroska does not take
    options = [*CLOSING, "-fflags", "+genpts", *input_file(source.path)]
    for sound in sounds:
        options += input_file(sound.path)
    options += all_tracks(source)
    options += chapter_options(media.chapters, 1 + len(sounds), folder)
    options += _pictures(media, form)
    enhanced = {sound.number: place for place, sound in enumerate(sounds, start=1)}
    for number, track in enumerate(media.tracks):
        options += _track(number, track, enhanced.get(number), form, kbit)
    options += subtitle_options(media.subtitles, form, media.subtitle_names)
    # behind all others: since version 7, ffmpeg writes packets into those in front of coded sound
    options += _attachments(source.path, media, form, folder)
    dropped = list(filter(is_loudness, {**_first(media), **media.tags}))
    options += ["-c:v", "copy", "-c:t", "copy", *_metadata(media, dropped)]
    options += form_options(source, target)
    done = write_file([*options, "-f", form.muxer], part)
    cure = f"name an output that ends in {'.mkv or ' if media.pictures else ''}.wav"
    if done.status:
        raise QseError(f"{target} could not be written by ffmpeg ({done.reason}): {cure}")
    dropped += source.complete(part, form)
    made = inspect(part)
    _check_channels(media, made.media, set(enhanced), target)
    if not _is_whole(made, sounds):
        reason = "ffmpeg has not written all of it: is the disk full? If not"
        raise QseError(f"{target} could not be written: {reason}, {cure}")
    result = made.media
    lost = [*lost_names(media, result), *lost_beside(source, made)]
    lost += changed(media, result, set(enhanced), source.closes_jumps) if result else []
    if source.has_other_positions and not media.tracks[0].orders_channels:
        lost.append("channel positions")
    return Copied(lost, dropped)


def _check_channels(media: Media, made: Media | None, enhanced: set[int], target: Path) -> None:
    """Raise QseError where ffmpeg has mixed the channels of an enhanced track to fewer or more."""
    for number, (track, other) in enumerate(
        zip(media.tracks, made.tracks if made else (), strict=False)
    ):
        if number in enhanced and other.channels != track.channels:
            cure = f"name an output that ends in .{'mka' if track.channels <= 8 else 'wav'}"
            raise QseError(f"{target}: this format does not hold {track.channels} channels: {cure}")


def _is_whole(made: Inspection, sounds: list[Sound]) -> bool:
    """Return whether a file holds all of the enhanced tracks: ffmpeg may end without an error where
    its last bytes could not be written, and some of its encoders make faults."""
    # what it says of pictures and copied sound does not matter: it may be damaged in the source
    media = made.media
    salvage = media is None or media.pictures + media.covers + len(media.tracks) > len(sounds)
    for sound in sounds:
        track = sound.number + 1
        try:
            with FfmpegDecoder(made.path, salvage=salvage, track=track, inspection=made) as decoder:
                read = sum(map(len, decoder.blocks()))
        except QseError:
            return False
        rate = decoder.layout.sample_rate
        if read / rate < sound.seconds - SHORT or made.skipped_damage(rate):
            return False
    return True


def clips(track: Track, form: MediaForm) -> bool:
    """Return whether the enhanced track cannot store samples beyond full scale."""
    coding = encoder(track, form)
    limited = coding in DEPTHS and not _is_float(coding, track)
    return limited or coding.startswith(("pcm_s", "pcm_u"))


def supposed_mask(track: Track, target: Path) -> int:
    """Return the channel mask for an enhanced track of unknown positions, 0 for the usual one.

    Raises QseError where ffmpeg would exchange its channels.
    """
    coding = encoder(track, MEDIA[suffix_of(target)])
    if track.channels in EXCHANGED.get(coding, ()):
        cure = "name an output that ends in .mka or .mkv"
        raise QseError(f"{target}: ffmpeg would exchange some of {track.channels} channels: {cure}")
    return SUPPOSED.get(coding, {}).get(track.channels, 0)


def encoder(track: Track, form: MediaForm) -> str:
    """Return the encoder of ffmpeg for an enhanced track: its own, if that is lossless and fits."""
    keeps = track.is_lossless and track.codec.startswith(form.lossless)
    return track.codec if keeps else form.encoder


def _is_float(coding: str, track: Track) -> bool:
    """Return whether the samples are written as floats, as those of a WavPack file of 32 bits."""
    return coding == "wavpack" and track.bits > 24


def _track(
    number: int, track: Track, place: int | None, form: MediaForm, kbit: float | None
) -> list[str]:
    """Return the options for the sound track `number` of the output.

    place: input with the enhanced samples; None for a track that is copied, or encoded anew where
    the output does not hold its coding.
    """
    described = [f"-map_metadata:s:a:{number}", f"0:s:a:{number}"]
    described += [f"-disposition:a:{number}", "+".join(track.marks) or "0"]
    for name in track.tags:
        if is_loudness(name):
            described += [f"-metadata:s:a:{number}", f"{name}="]
    described += name_options("a", number, track.name)
    origin = f"0:a:{number}" if place is None else f"{place}:a"
    if place is None and track.codec.startswith(form.copied):
        return ["-map", origin, f"-c:a:{number}", "copy", *described]
    coding = encoder(track, form)
    options = ["-map", origin, f"-c:a:{number}", coding]
    if _is_float(coding, track):
        options += [f"-sample_fmt:a:{number}", "fltp"]
    elif coding in DEPTHS:
        fine = track.bits > 16
        options += [f"-sample_fmt:a:{number}", DEPTHS[coding][fine]]
        options += [f"-bits_per_raw_sample:a:{number}", "24" if fine else "16"]
    elif not coding.startswith("pcm_"):
        lossy = track.bit_rate / 1000 if track.bit_rate and not track.is_lossless else USUAL_RATE
        options += [f"-b:a:{number}", f"{round(kbit or lossy)}k"]
    return [*options, *described]


def _pictures(media: Media, form: MediaForm) -> list[str]:
    """Return the options for moving pictures and covers."""
    options: list[str] = []
    with_covers = form.covers == "picture"
    if form.is_video or with_covers:
        options += ["-map", "0:v?" if with_covers else "0:V?"]
        if not form.is_video:
            options += ["-map", "-0:V?"]  # covers alone
        if form.is_video or not media.pictures:
            options += _described("v", media.pictures + (media.covers if with_covers else 0))
            # covers may stand before pictures
            for number, name in enumerate(() if media.covers else media.picture_names):
                options += name_options("v", number, name)
    return options


def _attachments(source: Path, media: Media, form: MediaForm, folder: Path) -> list[str]:
    """Return the options for attachments, and for covers where a format holds them as such."""
    if form.covers != "attachment":
        return []
    kept = ["-map", "0:t?", *_described("t", media.attachments)]
    if not media.covers:
        return kept
    options = [*input_file(source), "-map", "0:v", "-map", "-0:V"]
    options += ["-c", "copy", "-frames:v", "1", "-f", "image2pipe", "-"]
    picture = run("ffmpeg", options).output
    image = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    path = folder / f"cover.{image}"
    path.write_bytes(picture)
    kind = [f"-metadata:s:t:{media.attachments}", f"mimetype=image/{image}"]
    return [*kept, "-attach", f"file:{path}", *kind]


def _described(kind: str, count: int) -> list[str]:
    """Return the options with which `count` tracks of a kind keep names, languages, time codes."""
    options = []
    for number in range(count):
        options += [f"-map_metadata:s:{kind}:{number}", f"0:s:{kind}:{number}"]
    return options


def _metadata(media: Media, dropped: list[str]) -> list[str]:
    place = "0" if media.tags or not media.tracks else "0:s:a:0"
    options = ["-map_metadata", place, *recoded_options(media.recoded)]
    if not media.pictures and media.begin < LEAST:
        # of a sound file, whose chapters would be moved by the delay of its encoder
        options.append("-copyts")
    for name in dropped:
        options += ["-metadata", f"{name}="]
    return [*options, *date_options(media.tags)]


def _first(media: Media) -> dict[str, str]:
    return media.tracks[0].tags if media.tracks else {}
