"""Read audio and video files that libsndfile does not support with the program ffmpeg.

ffmpeg runs as a process of its own and sends a sound track as a WAV stream through a pipe.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..errors import QseError
from .checks import BLOCK, SALVAGE, UNCHECKED, UNPLACED, checked, rate_fault
from .content import inspected
from .ffmpeg_input import PLAYLIST, input_file, is_installed, last_message, need_ffmpeg
from .ffmpeg_process import Child
from .formats import Layout, suffix_of
from .inspection import Inspection
from .probe import SURE, Media, Track
from .suffixes import FOREIGN
from .time_stamps import (
    TELLING,
    all_tracks,
    closed_text,
    displaced_text,
    errors,
    jumps_text,
    reading,
    reporting,
    timing,
    unread,
)

CHECKSUMS = ("-err_detect", "crccheck")  # of WavPack, TTA and others, which it else ignores
MORE = 0.1  # seconds by which there may be more than stated
TOLERATED = 0.04  # seconds by which a header may state too much, or a frame of AAC
FRAME = 1025  # samples of it, rounded up
OF_PICTURES = b"max pixel count"
# by codec; others by the bits of a sample
SUBTYPES = {"pcm_f32": "FLOAT", "pcm_f64": "DOUBLE", "pcm_u8": "PCM_U8"}
# of libsndfile
STRINGS = ("title", "artist", "album", "comment", "date", "genre", "tracknumber", "copyright")


class FfmpegDecoder:
    """Read a sound track of a file through ffmpeg; see AudioReader.

    Its length is unknown until the end.
    """

    def __init__(
        self,
        path: Path,
        name: str | None = None,
        salvage: bool = False,
        track: int = 1,
        inspection: Inspection | None = None,
    ):
        """Open the sound track number `track`, from 1.

        inspection: of the file; it is inspected if that is None. Raises QseError if ffmpeg is not
        installed, or finds no such track in `path`.
        """
        self.name = name or str(path)
        self.inspection = inspection or inspected(path, self.name)
        self._salvage = salvage
        self.samples: int | None = None
        self.damage: str | None = None
        need_ffmpeg(self.name)
        self.media = self.inspection.media
        count = len(self.media.tracks) if self.media else 1
        if 0 < count < track:
            raise QseError(f"{self.name} has no sound track {track}: it has {count}")
        self._track = found = self.media.tracks[track - 1] if self.media and count else None
        self._begin = found.begin if found else 0.0
        options = [*all_tracks(self.inspection), "-map", f"0:a:{track - 1}"]
        options += timing(self.inspection, found)
        options += ["-map_metadata", "-1", "-c:a", "pcm_f32le", "-f", "wav", "-"]
        before = [*reporting(self.inspection), *CHECKSUMS, *reading(self.inspection, found)]
        self._child = Child("ffmpeg", [*before, *input_file(path), *options], TELLING)
        try:
            channels, rate, self.channel_mask = _read_header(self._child)
        except EOFError:
            self._child.wait()
            printed = errors(self._child.messages())
            self._child.__exit__()
            if self._child.stalled:
                reason = "ffmpeg gives no sound of it for a minute: convert it with ffmpeg first"
                raise QseError(f"{self.name} is not read: {reason}") from None
            reason = last_message(printed)
            if not reason or b"matches no streams" in printed:
                raise QseError(f"{self.name} has no sound track: name another file") from None
            raise QseError(
                f"{self.name} is not an audio file that ffmpeg reads: {reason}"
            ) from None
        if self.inspection.states_positions and not (found and found.orders_channels):
            self.channel_mask = self.inspection.channel_mask
        elif found and found.positions in ("", "unknown"):
            self.channel_mask = None
        if fault := rate_fault(rate):
            self._child.__exit__()
            raise QseError(f"{self.name} {fault}")
        self._begin += self.inspection.lead(rate)
        self.layout = Layout(rate, channels, "WAV", _subtype(found), "FILE", _strings(self.media))

    def __enter__(self) -> "FfmpegDecoder":
        return self

    def __exit__(self, *_: object) -> None:
        self._child.__exit__()

    def blocks(self, stop: float = math.inf) -> Iterator[np.ndarray]:
        """Yield samples in turn; see AudioReader."""
        read = 0
        for block in checked(self._read(), self.name, self.layout.sample_rate):
            read += len(block)
            yield block
            if read >= stop:
                break
        self._check(read, is_whole=read < stop)
        self._child.__exit__()

    def _check(self, read: int, is_whole: bool) -> None:
        """Set `damage`, or raise QseError, where `read` samples, the whole file or its beginning,
        are not what they were."""
        if not is_whole:
            self._child.__exit__()  # what it has said of these samples may not have arrived before
        status = self._child.wait() if is_whole else 0
        printed = self._child.messages()
        self._refuse_displaced(printed)
        said = self._said(printed, is_whole)
        jumps = jumps_text(printed, self.layout.sample_rate, self._begin)
        doubts = self._doubts(printed, read if is_whole else None)
        if status or said:
            reason = said or f"ffmpeg ended with status {status}"
            reason = f"{reason}; {jumps}" if jumps else reason
            if not self._salvage:
                raise QseError(f"{self.name} is damaged: {reason}; {SALVAGE}")
            seconds = f"{read / self.layout.sample_rate:.2f} s were read"
            unknown = "the file does not say how much is missing"
            self.damage = f"{self.name} is damaged: {seconds}; {unknown} ({reason})"
        elif text := "; ".join(filter(None, (jumps, *doubts))):
            self.damage = f"{self.name} may be damaged: {text}"
        if not read:
            raise QseError(f"{self.name} holds no samples")

    def _read(self) -> Iterator[np.ndarray]:
        channels = self.layout.channels
        size = 4 * channels * max(1024, BLOCK // channels)
        while data := self._child.read(size):
            self._refuse_displaced(self._child.messages())
            used = len(data) // (4 * channels) * channels
            yield np.frombuffer(data, np.float32, used).reshape(-1, channels)

    def _refuse_displaced(self, printed: bytes) -> None:
        if reason := displaced_text(printed, self.layout.sample_rate, self._begin):
            raise QseError(f"{self.name} is not read: {reason}; convert it with ffmpeg first")

    def _doubts(self, printed: bytes, read: int | None) -> Iterator[str | None]:
        """Yield in words what may be missing, and ffmpeg calls no error. read: samples of the whole
        file; None if only its beginning was read."""
        if self._track is None:
            return
        if self.inspection.kind is None:
            is_named = suffix_of(self.inspection.path) in FOREIGN
            yield "it does not begin like a file of its name" if is_named else UNCHECKED
        yield self.inspection.missing_at_end(None)
        yield from unread(printed, self._track.index)
        yield closed_text(printed, self._track.index)
        if read is None:
            return
        seconds = read / self.layout.sample_rate
        stated = self.inspection.stated_seconds(self._track)
        missing = stated - seconds
        if missing > min(MORE, max(TOLERATED, FRAME / self.layout.sample_rate)):
            yield f"its header states {missing:.2f} s more than there are"
        if stated and -missing > MORE and self.inspection.states_all:
            yield f"its header states {-missing:.2f} s less than there are"

    def _said(self, printed: bytes, is_whole: bool) -> str:
        """Return what is wrong with the file, "" if nothing is."""
        lines = []
        for line in errors(printed).splitlines():
            if not any(text in line for text in (OF_PICTURES, *self.inspection.harmless)):
                lines.append(line)
        if not lines and self.inspection.ends_early and (is_whole or self._salvage):
            return "its end is missing" if is_whole else UNPLACED
        hidden = self.inspection.skipped_damage(self.layout.sample_rate)
        return hidden or last_message(b"\n".join(lines))


def is_readable(found: Inspection, name: str, salvage: bool) -> bool:
    """Return whether ffmpeg is installed, and sure to find sound in a file that libsndfile does not
    read.

    Raises QseError if the file is a playlist, or a WAV file that ends early, of which ffmpeg does
    not complain, unless `salvage`.
    """
    if not is_installed():
        return False
    if found.media is None and found.refusal == PLAYLIST:
        raise QseError(f"{name} is no recording: {PLAYLIST}")
    if found.media is None or not found.media.tracks or found.media.score <= SURE:
        return False
    if found.ends_early and not salvage:
        raise QseError(
            f"{name} is cut short: its end is missing; record or copy it again; {SALVAGE}"
        )
    return True


def _subtype(track: Track | None) -> str:
    """Return the subtype of libsndfile with the precision of a track."""
    if track is None:
        return "PCM_16"
    for begin, subtype in SUBTYPES.items():
        if track.codec.startswith(begin):
            return subtype
    if not track.is_lossless or track.bits <= 16:
        return "PCM_16"
    return "PCM_24" if track.bits <= 24 else "PCM_32"


def _strings(media: Media | None) -> dict[str, str]:
    """Return the tags that libsndfile knows, under its names."""
    tags = {name.lower(): text for name, text in media.tags.items()} if media else {}
    tags["tracknumber"] = tags.get("track", "")
    return {name: tags[name] for name in STRINGS if tags.get(name)}


def _read_header(pipe: Child) -> tuple[int, int, int | None]:
    """Read a WAV stream up to its samples; return channels, sample rate and channel mask.

    Raises EOFError if it ends before.
    """
    start = pipe.read(12)
    if len(start) < 12:
        raise EOFError
    channels = 0
    rate = 0
    mask = None
    while len(chunk := pipe.read(8)) == 8:
        if chunk[:4] == b"data":
            return channels, rate, mask
        body = pipe.read(int.from_bytes(chunk[4:], "little"))
        if chunk[:4] == b"fmt ":
            channels = int.from_bytes(body[2:4], "little")
            rate = int.from_bytes(body[4:8], "little")
            mask = int.from_bytes(body[20:24], "little") if len(body) >= 40 else None
    raise EOFError
