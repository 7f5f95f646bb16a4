"""Name damaged places in a message."""

from typing import TypeVar

NAMED = 3  # places in a message
MOST = 1 << 12  # places that are kept in memory: a file may have one in every few bytes

T = TypeVar("T")


def note(places: list[T], place: T) -> None:
    """Add a place, unless there are MOST."""
    if len(places) < MOST:
        places.append(place)


def named(places: list[str]) -> str | None:
    """Return the first places in words, None if there are none."""
    if not places:
        return None
    least = "at least " if len(places) >= MOST else ""
    count = len(places) - NAMED
    more = f", and {least}{count} more places" if count > 0 else ""
    return ", ".join(places[:NAMED]) + more
