"""FLV files: ffmpeg reads one that is cut without a word, so the tags are followed."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .file_bytes import FileBytes
from .inspection import Inspection
from .probe import Track

HEADER = 9  # bytes
BEHIND = 4  # bytes behind the header, and behind each tag: the size of the one before
HEAD = 11  # bytes of a tag before its body
SOUND = 8
TYPES = (SOUND, 9, 18)  # pictures, data
KIND = 0x1F  # bits of the type; another one marks what is encrypted
MOST = 1 << 23  # tags: days of sound
LAST_PICTURE = 0.3  # seconds that one may last at the end


class Flv(Inspection):
    """A file of this kind, with or without pictures."""

    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "FLV" if head.startswith(b"FLV\1") else None

    @cached_property
    def tags(self) -> "Tags":
        """Return what the tags say."""
        return read_tags(self.path)

    def skipped_damage(self, sample_rate: int) -> str | None:
        return self.tags.fault

    def stated_seconds(self, track: Track) -> float:
        """Return the length that the header states, or, where there are pictures up to about that,
        the times of the sound."""
        if self.media is None:
            return 0.0
        is_there = self.media.seconds - self.tags.seconds < LAST_PICTURE
        return self.tags.sound if self.media.pictures and is_there else self.media.seconds


@dataclass(frozen=True)
class Tags:
    """The tags of a file: seconds up to the last one, seconds between the first and the last one
    with sound, and what is damaged in words."""

    seconds: float
    sound: float
    fault: str | None


def read_tags(path: Path) -> Tags:
    """Read all tags of a file. Raises OSError."""
    last = 0.0
    sound: list[float] = []  # the times of the first and the last tag
    with path.open("rb") as file:
        data = FileBytes(file)
        at = max(HEADER, int.from_bytes(data[5:HEADER], "big")) + BEHIND
        count = 0
        while at + HEAD <= len(data) and count < MOST:
            count += 1
            head = data[at : at + HEAD]
            if head[0] & KIND not in TYPES:
                return Tags(last, 0.0, f"a tag is damaged at {last:.2f} s")
            size = int.from_bytes(head[1:4], "big")
            if at + HEAD + size > len(data):
                return Tags(last, 0.0, "its end is missing")
            time = int.from_bytes(head[7:8] + head[4:7], "big") / 1000
            last = max(last, time)
            if head[0] & KIND == SOUND:
                sound = [*sound[:1], time]
            at += HEAD + size + BEHIND
        is_cut = at != len(data)
    between = sound[-1] - sound[0] if sound else 0.0
    return Tags(last, between, "its end is missing" if is_cut else None)
