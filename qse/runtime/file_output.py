"""Write enhanced files with all that their originals hold beside the samples."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..audio.bit_rate import LOSSY, BitRate, settings
from ..audio.channel_order import USUAL_MASKS, check_subwoofer
from ..audio.checks import check_unchanged
from ..audio.clipping import ClipMeter
from ..audio.content import inspect, wrong_suffix
from ..audio.copied_track import damage_of
from ..audio.ffmpeg import FfmpegDecoder
from ..audio.ffmpeg_input import need_ffmpeg
from ..audio.formats import Layout, conversion_text, suffix_of
from ..audio.mapped_metadata import needs_strings
from ..audio.media_writer import Sound, clips, supposed_mask, write_media
from ..audio.metadata import carry, is_copied, long_enough
from ..audio.private_folder import private_folder
from ..audio.reader import AudioReader
from ..audio.resample import converted
from ..audio.suffixes import MEDIA
from ..audio.writer import atomic_target, check_target, write
from ..errors import QseError
from .batch_plan import FileJob
from .levelled import levelled, need_meter
from .part import Part
from .written import Written, copy_times, say, say_clipping, say_part, say_picture

Enhance = Callable[[AudioReader], Iterable[np.ndarray]]  # returns the enhanced blocks of a reader


@dataclass(frozen=True)
class FileOptions:
    """Settings of enhanced files.

    bit_rate: of lossy files, in kbit/s, that of the source if None. keep_times: whether they get
    the times of their source. track: the only sound track to enhance, from 1, all if None. part:
    what is enhanced of each, None: all. loudness: in LUFS, as it comes if None. is_trial: write
    the noisy sound to a temporary file in place of the target, to know what is lost.
    """

    overwrite: bool = False
    salvage: bool = False
    bit_rate: float | None = None
    keep_times: bool = False
    track: int | None = None
    part: Part | None = None
    loudness: float | None = None
    is_trial: bool = False


def write_file(
    job: FileJob, source: AudioReader, enhance: Enhance, options: FileOptions
) -> Written:
    """Write the enhanced version of an open file.

    Raises QseError if that fails; then nothing is left on the disk.
    """
    said: list[str] = []
    if options.loudness is not None and not options.is_trial:
        need_meter(options.loudness)
        enhance = _at_loudness(enhance, options.loudness, job, said)
    tracks = len(source.media.tracks) if source.media else 1
    form = MEDIA.get(suffix_of(job.target))
    if form and form.is_video and source.media is None:
        form = None  # the layout refuses it
    if tracks > 1 and (form.is_single if form else options.track is None):
        cure = "" if form else f"track=N chooses one, from 1 to {tracks}; "
        held = f"{job.target} can hold one: {cure}an output that ends in .mka holds all"
        raise QseError(f"{job} has {tracks} sound tracks, and {held}")
    if form is None:
        written = _write_audio(job, source, enhance, options)
    else:
        if options.part and source.media:
            what = "tracks that are copied" if options.track and tracks > 1 else ""
            if what := "pictures" if form.is_video and source.media.pictures else what:
                cure = "name an output that ends in .wav"
                raise QseError(f"{job}: {what} cannot be cut to a part: {cure}")
        written = _write_media(job, source, enhance, options)
    written.warnings += said
    if source.media and source.media.pictures and not (form and form.is_video):
        say_picture(written, job)
    if options.part:
        say_part(written, job, source.inspection)
    kind = source.inspection.kind
    if wrong_suffix(job.source, kind):
        suffix = job.target.suffix
        written.warnings.insert(
            0, f"{job} is a file of the kind {kind}, read as such; {job.target} is a {suffix} file"
        )
    return written


def _at_loudness(enhance: Enhance, target: float, job: FileJob, said: list[str]) -> Enhance:
    """Return a function that brings what `enhance` returns to a loudness, by way of a temporary
    file, and adds to `said` what is to be said of it."""

    def at_loudness(reader: AudioReader) -> Iterator[np.ndarray]:
        with private_folder() as folder:
            path = folder / "enhanced.rf64"
            _write_sound(path, reader, enhance(reader))
            blocks, missed = levelled(path, target)
            said.extend([f"{job.target}: {missed}"] if missed else [])
            yield from blocks

    return at_loudness


def _write_audio(
    job: FileJob, source: AudioReader, enhance: Enhance, options: FileOptions
) -> Written:
    written = Written()
    clipping = ClipMeter()
    layout = sound_layout(source, job.target, options.bit_rate)
    if (source.samples or 0) > layout.longest:
        raise QseError(
            f"{job} is too long for a {layout.format} file: name an output that ends in .rf64"
        )

    def finish(part: Path, samples: int) -> None:
        with long_enough(job.target, layout):
            say(written, job, carry(source, part, layout, samples))
        check_unchanged(source.inspection, str(job))
        if options.keep_times:
            copy_times(written, job, part)

    blocks = _converted(written, job, enhance(source), source.layout, layout)
    counted = clipping.counted(blocks) if layout.clips else blocks
    with _place(job, options) as path:
        to = (path, counted, layout, options.overwrite)
        samples = write(*to, finish=finish, source=job.source, is_named=job.is_named)
    written.samples = round(samples * source.layout.sample_rate / layout.sample_rate)
    say_clipping(written, job, clipping)
    return written


@contextmanager
def _place(job: FileJob, options: FileOptions) -> Iterator[Path]:
    """Yield the path that is written."""
    if not options.is_trial:
        yield job.target
        return
    check_target(job.target, options.overwrite)
    with private_folder() as folder:
        yield folder / job.target.name


def sound_layout(source: AudioReader, target: Path, kbit: float | None = None) -> Layout:
    """Return the layout of a sound file `target` for the sound of an open file. kbit: bit rate of a
    lossy one, that of the source if None. Raises QseError if its format cannot hold the sound."""
    layout = source.layout.to(target)
    check_subwoofer(target, layout, source.channel_mask)
    seconds = source.samples / source.layout.sample_rate if source.samples else None
    rate = BitRate(kbit, is_constant=True) if kbit else None
    if rate is None and layout.subtype in LOSSY:
        rate = _source_rate(source, seconds)
    copied = is_copied(source.inspection, layout)
    tags = {} if copied or not needs_strings(layout) else layout.tags
    coding = settings(layout.subtype, layout.sample_rate, layout.channels, rate)
    return replace(layout, tags=tags, settings=coding)


def _source_rate(source: AudioReader, seconds: float | None) -> BitRate | None:
    if source.media is None:
        return source.inspection.bit_rate(source.layout.subtype, seconds)
    track = source.media.tracks[0] if source.media.tracks else None
    lossy = track is not None and not track.is_lossless and track.bit_rate
    return BitRate(track.bit_rate / 1000) if track and lossy else None


def _write_media(
    job: FileJob, first: AudioReader, enhance: Enhance, options: FileOptions
) -> Written:
    need_ffmpeg(str(job.target))
    with (
        _place(job, options) as path,
        atomic_target(path, options.overwrite, source=job.source, is_named=job.is_named) as part,
        private_folder() as folder,
    ):
        origin = first.inspection.readable_by_ffmpeg(first.layout, folder)
        media = origin.media
        if media is None or not media.tracks:
            raise QseError(f"{job} cannot be read by ffmpeg: name an output that ends in .wav")
        numbers = range(len(media.tracks)) if options.track is None else [options.track - 1]
        written = Written(tracks=len(numbers))
        sounds = []
        for place, number in enumerate(numbers):
            clipping = ClipMeter()
            held = folder / f"{number}.rf64"
            reader = (
                first
                if place == 0
                else FfmpegDecoder(job.source, job.name, options.salvage, number + 1, origin)
            )
            mask = supposed_mask(media.tracks[number], job.target)
            with reader:
                samples = _write_sound(held, reader, clipping.counted(enhance(reader)), mask)
            written.samples = written.samples or samples
            written.damage += [reader.damage] if reader.damage and reader is not first else []
            if clips(media.tracks[number], MEDIA[suffix_of(job.target)]):
                say_clipping(written, job, clipping)
            sounds.append(Sound(number, held, samples / reader.layout.sample_rate))
        for number in sorted(set(range(len(media.tracks))) - set(numbers)):
            if damage := damage_of(job.source, str(job), number + 1, origin):
                written.damage.append(f"track {number + 1} is copied as it is: {damage}")
        made = folder / "made"  # by ffmpeg, which could be led elsewhere beside the target
        say(written, job, write_media(origin, sounds, made, job.target, options.bit_rate))
        shutil.copyfile(made, part)
        check_unchanged(first.inspection, str(job))
        if options.keep_times:
            copy_times(written, job, part)
    return written


def _write_sound(
    path: Path, reader: AudioReader, blocks: Iterable[np.ndarray], unknown: int = 0
) -> int:
    """Write the enhanced samples for ffmpeg; return how many per channel. unknown: the channel mask
    of sound whose positions are not known, 0 for the usual one."""
    layout = Layout(reader.layout.sample_rate, reader.layout.channels, "RF64", "FLOAT", "FILE", {})
    samples = write(path, blocks, layout)
    usual = USUAL_MASKS.get(layout.channels)
    stated = reader.channel_mask if layout.channels > 1 else usual  # as encoders know a single one
    if mask := stated or unknown or usual:  # libsndfile writes others into RF64
        inspect(path).state_mask(mask, layout.channels)
    return samples


def _converted(
    written: Written, job: FileJob, blocks: Iterable[np.ndarray], original: Layout, layout: Layout
) -> Iterator[np.ndarray]:
    """Yield the blocks at the sample rate of the target, and say so if it is another one."""
    warning = conversion_text(job.target, layout, original.sample_rate)
    if warning is None:
        yield from blocks
        return
    written.warnings.append(warning)
    yield from converted(blocks, original.sample_rate, layout.sample_rate, layout.channels)
