"""Collect what is to be said of an enhanced file."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..audio.clipping import ClipMeter
from ..audio.copied import Copied
from ..audio.inspection import Inspection
from ..printable import printable
from .batch_plan import FileJob

LONGEST_NAMES = 500  # characters of names in a message
TIMED = (  # metadata that state times in a recording
    *("chapters", "CHAPTER", "cue", "smpl", "MARK", "INST", "mark", "regn", "cue sheet", "bext"),
    *("SYLT", "ETCO", "adtl"),
)


@dataclass
class Written:
    """Report of an enhanced file.

    samples: per channel of the first track, at its rate. tracks: sound tracks that were enhanced.
    warnings: sentences. lost: names of metadata that the file does not hold, among them those that
    no longer hold.
    """

    samples: int = 0
    tracks: int = 1
    warnings: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)


def say(written: Written, job: FileJob, copied: Copied) -> None:
    """Name what is lost, in one line, and what no longer holds, in another."""
    if copied.lost:
        written.warnings.append(
            f"{job.target} does not hold these metadata of {job}: {_names(copied.lost)}"
        )
    if copied.dropped:
        reason = "it no longer holds after enhancement"
        written.warnings.append(
            f"{job.target} is without what {job} says of its samples, because {reason}:"
            f" {_names(copied.dropped)}"
        )
    written.lost += [*copied.lost, *copied.dropped]


def copy_times(written: Written, job: FileJob, part: Path) -> None:
    """Give `part` the times of the source; say so where it cannot have them."""
    times = job.source.stat()
    try:
        os.utime(part, ns=(times.st_atime_ns, times.st_mtime_ns))
    except OSError as error:  # some file systems of networks and cards hold none
        reason = error.strerror or str(error)
        written.warnings.append(f"{job.target} has not the times of {job}: {reason}")


def _names(names: list[str]) -> str:
    """Return names in one line of limited length: a damaged file may have any."""
    text = ", ".join(map(printable, dict.fromkeys(names)))
    if len(text) <= LONGEST_NAMES:
        return text
    return f"{text[:LONGEST_NAMES]} ... ({len(names)} in all)"


def say_clipping(written: Written, job: FileJob, clipping: ClipMeter) -> None:
    said = clipping.said()
    if said:
        written.warnings.append(
            f"{job.target}: {said}; a .wav file of a float recording holds them"
        )


def say_picture(written: Written, job: FileJob) -> None:
    """Say that the picture of a video is not in its output, which holds sound alone."""
    cure = "name an output that ends in .mkv to keep it"
    written.warnings.append(f"{job.target} is without the picture of {job}: {cure}")
    written.lost.append("picture")


def say_part(written: Written, job: FileJob, source: Inspection) -> None:
    """Add what is not right in a part of a recording."""
    names = [name for name in source.names() if name in TIMED]
    if source.needs_ffmpeg and source.media and source.media.chapters:
        names.append("chapters")
    if names:
        written.warnings.append(
            f"{job.target} is a part of {job}, with times of the whole in: {_names(names)}"
        )
