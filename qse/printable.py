"""Show texts of others, such as names of files and tags, on a terminal."""

import re

# controls, separators of lines, and signs that change the direction of writing
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
LONGEST = 4000  # characters of a message
END = 1000  # of them from its end, where the cure is


def printable(text: str) -> str:
    """Return `text` in one line, with its control characters escaped as in Python: a terminal would
    obey them."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(text: str) -> str:
    """Return a message as `printable`, without the middle of one that is longer than LONGEST: a
    damaged file may hold names of any length."""
    shown = printable(text)
    if len(shown) <= LONGEST:
        return shown
    return f"{shown[: LONGEST - END]} ... ({len(text)} characters) ... {shown[-END:]}"
