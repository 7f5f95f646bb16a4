"""Messages of ffmpeg that are kept, however many there are."""

import os
import re

from qse.audio.ffmpeg_messages import LONGEST, MOST, Messages


def kept(data: bytes, wanted=None) -> bytes:
    """Return what is kept of `data`."""
    out, into = os.pipe()
    messages = Messages(os.fdopen(out, "rb"), wanted)
    with os.fdopen(into, "wb") as pipe:
        pipe.write(data)
    messages.wait()
    return messages.read()


def test_the_first_and_the_last_are_kept():
    line = b"Non-monotonous DTS in output stream\n"
    many = line * (4 * MOST // len(line))
    found = kept(b"first\n" + many + b"last\n")
    assert found.startswith(b"first\n") and found.endswith(b"last\n")
    assert len(found) <= 2 * MOST + 2 * LONGEST


def test_lines_that_are_wanted_are_kept_among_any_number_of_others():
    other = b"nothing\n" * MOST
    assert kept(other + b"[error] a\n" + other, re.compile(rb"\[error\]")) == b"[error] a\n"


def test_a_line_without_an_end():
    assert len(kept(b"a" * (4 * MOST))) <= 2 * MOST + LONGEST
