"""Describe a part of a bundle: which recordings it holds, in which of its shards, and where.

The index is JSON inside the part. It comes from another machine and may hold anything: `read`
checks every value. Names are labels; none of them is ever used as a path.
"""

import hashlib
import json
import math
import re
from dataclasses import asdict, dataclass
from typing import Any

FORMAT = "qse-bundle-1"
KINDS = ("speech", "noise")
WIDE = 16000  # Hz
FULL = 48000  # Hz
RATES = (WIDE, FULL)  # of shards
LONGEST_SHARD = 3600  # seconds
LONGEST_NAME = 1000  # characters
MOST_RECORDINGS = 1_000_000
MOST_VALUES = 6 * MOST_RECORDINGS
HEX = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Recording:
    """A recording, or a piece of a long one, in a shard.

    name: folder, path below it, and the number of the piece. group: speaker or class of noise.
    start, samples: where it lies in the shard. bandwidth: in Hz, measured before it was coded.
    """

    name: str
    group: str
    start: int
    samples: int
    bandwidth: float


@dataclass(frozen=True)
class Shard:
    """A file in a part: recordings of one kind at one sample rate, end to end with short pauses.

    kind: one of KINDS. samples: of the whole shard. sha256: of the file.
    """

    kind: str
    sample_rate: int
    samples: int
    sha256: str
    recordings: tuple[Recording, ...]


@dataclass(frozen=True)
class PartIndex:
    """A part. bundle: what all parts of a bundle have in common. part: its number."""

    bundle: str
    part: int
    shards: tuple[Shard, ...]

    def text(self) -> str:
        """Return the index as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"))

    def hours(self, kind: str) -> float:
        """Return the hours of recordings of a kind."""
        hours = 0.0
        for shard in self.shards:
            if shard.kind == kind:
                samples = sum(recording.samples for recording in shard.recordings)
                hours += samples / shard.sample_rate / 3600
        return hours


def shard_name(number: int) -> str:
    """Return the name of a shard in its part."""
    return f"{number:04d}.opus"


def identity(text: str) -> str:
    """Return what distinguishes a part from all others, by its index."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(text: str) -> PartIndex:
    """Read an index. Raises ValueError for anything that `PartIndex.text` does not write."""
    if text.count(",") > MOST_VALUES:  # each of which takes more memory than its text
        raise ValueError("too many recordings")
    try:
        found = json.loads(text)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError("of another format")
        shards = tuple(map(_shard, _list(found["shards"])))
        if sum(len(shard.recordings) for shard in shards) > MOST_RECORDINGS:
            raise ValueError("too many recordings")
        return PartIndex(_hex(found["bundle"], 16), _whole(found["part"], 0, 99999), shards)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("incomplete") from error


def _shard(found: dict[str, Any]) -> Shard:
    if found["kind"] not in KINDS or found["sample_rate"] not in RATES:
        raise ValueError("of unknown kind or rate")
    rate = _whole(found["sample_rate"], 1, FULL)
    samples = _whole(found["samples"], 1, LONGEST_SHARD * rate)
    recordings = []
    end = 0
    for values in _list(found["recordings"]):
        recordings.append(_recording(values, end, samples))
        end = recordings[-1].start + recordings[-1].samples
    sha256 = _hex(found["sha256"], 64)
    return Shard(found["kind"], rate, samples, sha256, tuple(recordings))


def _recording(found: dict[str, Any], least: int, limit: int) -> Recording:
    start = _whole(found["start"], least, limit - 1)
    samples = _whole(found["samples"], 1, limit - start)
    bandwidth = found["bandwidth"]
    if type(bandwidth) not in (int, float) or not math.isfinite(bandwidth) or bandwidth < 0:
        raise ValueError("no bandwidth")
    name = _label(found["name"])
    return Recording(name, _label(found["group"]), start, samples, float(bandwidth))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("no list")
    return value


def _whole(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError("a number out of range")
    return value


def _hex(value: Any, digits: int) -> str:
    if not isinstance(value, str) or len(value) != digits or not HEX.fullmatch(value):
        raise ValueError("no checksum")
    return value


def _label(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise ValueError("no name")
    return value
