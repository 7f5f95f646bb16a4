"""Read the Xing or Info header of an MP3 file, which states its length."""

from pathlib import Path

from .id3 import tag_size

MP3_RATES = (  # kbit/s of layer III by the index in the header: MPEG 1, and MPEG 2 and 2.5
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)


def mp3_size(path: Path) -> int:
    """Return the least size in bytes that an MP3 file's Xing or Info header announces, 0 if it
    has none."""
    start, header = mp3_header(path)
    flags = header[7] if header else 0
    size = 8 + 4 * (flags & 1)
    return start + int.from_bytes(header[size : size + 4], "big") if flags & 2 else 0


def mp3_header(path: Path) -> tuple[int, bytes]:
    """Return where the first frame of an MP3 file begins, and its Xing or Info header; empty if
    it has none."""
    with path.open("rb") as file:
        head = file.read(10)
        start = tag_size(head)
        file.seek(start)
        head = file.read(256)
    at = max(head.find(b"Xing"), head.find(b"Info"))
    return start, head[at:] if 0 <= at < len(head) - 7 else b""
