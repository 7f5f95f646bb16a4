"""Carry chapters from one file to another through ffmpeg: their order and their times."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from .ffmpeg_input import input_file

SPECIAL = re.compile(r"([=;#\\\n])")  # of the texts of ffmpeg's metadata files
NEAR = 0.01  # s; a chapter that is moved by less is the same


@dataclass(frozen=True)
class Chapter:
    """A chapter: begin and end in seconds, and its tags, such as its title."""

    start: float
    end: float
    tags: dict[str, str] = field(default_factory=dict)


def chapter_options(chapters: list[Chapter], following: int, folder: Path) -> list[str]:
    """Return the options with which ffmpeg writes chapters.

    Files may hold chapters in any order, as mutagen writes them by the length of their titles;
    ffmpeg then loses some. So these are given in the order of their times, as a file in `folder`
    that becomes the input number `following`.
    """
    if not chapters:
        return ["-map_chapters", "-1"]
    lines = [";FFMETADATA1"]
    for chapter in sorted(chapters, key=lambda chapter: chapter.start):
        lines += ["[CHAPTER]", "TIMEBASE=1/1000"]
        lines += [f"START={round(1000 * chapter.start)}", f"END={round(1000 * chapter.end)}"]
        for name, text in chapter.tags.items():
            lines.append(f"{_escaped(name)}={_escaped(text)}")
    path = folder / "chapters"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["-f", "ffmetadata", *input_file(path, ("ffmetadata",))]
    return [*options, "-map_chapters", str(following)]


def same_chapters(chapters: list[Chapter], others: list[Chapter]) -> bool:
    """Return whether chapters begin at the same times, whatever their order."""
    if len(chapters) != len(others):
        return False
    pairs = zip(_starts(chapters), _starts(others), strict=True)
    return all(abs(start - other) < NEAR for start, other in pairs)


def timed(entries: list[bytes], chapters: list[Chapter]) -> list[bytes]:
    """Return Ogg comments with the times of chapters in milliseconds: ffmpeg rounds the seconds of
    some up."""
    times = iter(_starts(chapters))
    right = []
    for entry in entries:
        name, _, text = entry.partition(b"=")
        if re.fullmatch(rb"CHAPTER\d{3}", name):
            seconds, thousandths = divmod(round(1000 * next(times, 0.0)), 1000)
            minutes = seconds // 60
            clock = f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds % 60:02d}"
            text = f"{clock}.{thousandths:03d}".encode()
        right.append(name + b"=" + text)
    return right


def _starts(chapters: list[Chapter]) -> list[float]:
    """Return when the chapters begin, in the order of time."""
    return sorted(chapter.start for chapter in chapters)


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\1", text)
