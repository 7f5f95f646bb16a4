"""Follow the tags of FLV files: ffmpeg reads one that is cut without a word."""

from dataclasses import dataclass
from pathlib import Path

from .file_bytes import FileBytes

HEADER = 9  # bytes
BEHIND = 4  # bytes behind the header, and behind each tag: the size of the one before
HEAD = 11  # bytes of a tag before its body
SOUND = 8
TYPES = (SOUND, 9, 18)  # pictures, data
KIND = 0x1F  # bits of the type; another one marks what is encrypted
MOST = 1 << 23  # tags: days of sound


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
        is_cut = at < len(data)
    between = sound[-1] - sound[0] if sound else 0.0
    return Tags(last, between, "its end is missing" if is_cut else None)
