"""The coding history of Broadcast Wave: a line of text for each coding and processing of a
recording (EBU Recommendation R98), at the end of the bext chunk."""

from .chunks import Container

BEGINNING = 602  # bytes of a bext chunk before its history
LIMIT = 1 << 20  # most bytes of a chunk that gets a line
LINEAR = (1, 3, 0xFFFE)  # codings of a format chunk: PCM, float, one of these with a mask
MODES = {1: "mono", 2: "stereo"}  # those that the recommendation names, by channels


def with_history(body: bytes, written: Container) -> bytes:
    """Return the body of a bext chunk with a line that says that qse has enhanced the recording and
    how the samples of `written` are coded; as it is where they are not linear, or where this line
    is the last one already."""
    chunk = written.find(b"fmt ")
    if chunk is None or not BEGINNING <= len(body) <= LIMIT:
        return body
    form = written.body(chunk)
    order = written.dialect.order
    channels = int.from_bytes(form[2:4], order)
    if int.from_bytes(form[:2], order) not in LINEAR:
        return body
    fields = ["A=PCM", f"F={int.from_bytes(form[4:8], order)}"]
    fields.append(f"W={int.from_bytes(form[14:16], order)}")
    if channels in MODES:
        fields.append(f"M={MODES[channels]}")
    fields.append("T=qse, noise removed")
    line = ",".join(fields).encode() + b"\r\n"
    text = body[BEGINNING:].rstrip(b"\0")
    if text.endswith(line):
        return body
    if text and not text.endswith(b"\r\n"):
        text += b"\r\n"
    return body[:BEGINNING] + text + line
