"""Join the date and the time of day of a recording, which some formats hold apart.

ffmpeg takes a time of day alone for one of today.
"""

import re

TIME = "creation_time"
STATED_TWICE = (TIME, "major_brand", "minor_version", "compatible_brands")
ZERO = re.compile(r"(\.0+)?Z?$")  # what ffmpeg writes behind a time


def once(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags with one of two equal values of a name: since version 9, ffmpeg joins what
    MP4 states in a header and as a key."""
    found = dict(tags)
    for name in STATED_TWICE:
        first, *others = tags.get(name, "").split(";")
        if others and all(same_moment(first, other) for other in others):
            found[name] = first
    return found


def joined(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags with the date before a time of day, if both are stated in full."""
    time = tags.get(TIME, "")
    date = tags.get("date", "")
    if not _is_time_of_day(time) or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        return tags
    return {**tags, TIME: f"{date}T{time}"}


def date_options(tags: dict[str, str], option: str = "-metadata") -> list[str]:
    """Return the options with which ffmpeg writes the time of `tags`, or none if there is no date
    to it. option: of the place to which it goes."""
    if TIME not in tags:
        return []
    time = "" if _is_time_of_day(tags[TIME]) else tags[TIME]
    return [option, f"{TIME}={time}"]


def same_moment(text: str, other: str) -> bool:
    """Return whether two texts state the same time, whatever ffmpeg has written behind it."""
    return ZERO.sub("", text.strip()) == ZERO.sub("", other.strip())


def _is_time_of_day(text: str) -> bool:
    return re.fullmatch(r"\d\d:\d\d(:\d\d)?(\.\d+)?", text) is not None
