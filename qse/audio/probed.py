"""Take values from what ffprobe prints of a track or of a file."""

import re
from typing import Any

from .tag_texts import readable

END = re.compile(r"(\d\d):(\d\d):(\d\d\.\d+)$")  # as programs write it into a tag


def kind_of(stream: dict[str, Any]) -> str:
    return stream.get("codec_type", "")


def coding_of(stream: dict[str, Any]) -> str:
    return stream.get("codec_name", "unknown")


def tags_in(found: dict[str, Any]) -> dict[str, str]:
    return readable(found.get("tags", {}))


def stated_seconds(stream: dict[str, Any]) -> float:
    unit = str(stream.get("time_base", "")).split("/")  # of its times: a fraction of a second
    if len(unit) != 2 or not all(map(str.isdecimal, unit)) or not int(unit[1]):
        return 0.0
    return number_in(stream, "nb_frames") * int(unit[0]) / int(unit[1])


def seconds_of(found: dict[str, Any]) -> float:
    """Return when the time stamps of a file or of a track begin, 0 if unknown."""
    return float(found.get("start_time", 0))


def number_in(stream: dict[str, Any], name: str) -> int:
    text = str(stream.get(name, ""))
    return int(text) if text.isdecimal() else 0


def is_copied(stream: dict[str, Any]) -> bool:
    """Return whether a track has pictures or sound of a known size or sample rate."""
    return bool(number_in(stream, "width") or number_in(stream, "sample_rate"))


def is_data(stream: dict[str, Any]) -> bool:
    is_known = stream.get("codec_tag_string") in ("tmcd", "text")
    return kind_of(stream) == "data" and not is_known


def end_of(tags: dict[str, str]) -> float:
    """Return the seconds at which a track of a Matroska file ends, by its tags, 0 without them."""
    found = END.match(tags.get("DURATION", ""))
    return int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3]) if found else 0.0


def shown_from(pictures: list[dict[str, Any]], start: float) -> float:
    """Return when the first picture is shown, after the `start` of a file; 0 without one."""
    return max(0.0, min((seconds_of(stream) - start for stream in pictures), default=0.0))


def shown_until(pictures: list[dict[str, Any]], start: float) -> float:
    """Return when the last picture ends, after the `start` of a file; 0 if unknown."""
    ends = [end_of(tags_in(stream)) for stream in pictures]
    for stream in pictures:
        if lasts := float(stream.get("duration", 0)):
            ends.append(seconds_of(stream) - start + lasts)
    return max(ends, default=0.0)


def moving_among(streams: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tracks of pictures that are no covers."""
    return [each for each in streams if kind_of(each) == "video" and not is_cover(each)]


def is_cover(stream: dict[str, Any]) -> bool:
    is_attached = stream.get("disposition", {}).get("attached_pic")
    return kind_of(stream) == "video" and bool(is_attached)
