"""Say what ffmpeg and ffprobe may read, and with how much memory.

Inputs are regular files in self-contained containers. Playlists and other formats that name further
files are refused, whatever the suffix, and so is every protocol but that of local files. Memory for
one allocation and the size of pictures are limited.
"""

import os
import re
import shutil
from pathlib import Path

from ..errors import QseError
from .formats import DEMUXERS

MOST_MEMORY = 300_000_000  # bytes of one allocation
MOST_PIXELS = 1 << 25  # of a picture: above 8K video
COMMON = ("-hide_banner", "-v", "error", "-max_alloc", str(MOST_MEMORY))
PLAYLIST = (
    "it is a playlist, a picture or of another kind that may name further files, and those are not "
    "read; name the recording itself"
)
REASONS = {  # printed by ffmpeg -> what it means
    b"not on whitelist": PLAYLIST,
    b"Not detecting m3u8": PLAYLIST,  # since version 7
    b"Unknown decoder 'libspeex": "this ffmpeg has no libspeex, and its own decoder of Speex makes "
    "other sound of some files; decode it with speexdec first",
    b"max pixel count": f"it holds a picture of more than {MOST_PIXELS} pixels",
}

# what ffmpeg prints behind the message that says why
FOLLOWING = re.compile(
    r"Terminating thread|Task finished with error|Nothing was written into output|"
    r"Error (?:muxing|submitting|sending)|Could not open encoder before|Conversion failed"
)


def program(name: str) -> str | None:
    """Return the path of a program, None if it is not installed.

    One in the working folder is none: Windows would take it first, and recordings of others may lie
    beside it.
    """
    file = f"{name}.exe" if os.name == "nt" else name
    for folder in os.get_exec_path():
        if os.path.isabs(folder) and (found := shutil.which(os.path.join(folder, file))):
            return found
    return None


def is_installed() -> bool:
    """Return whether ffmpeg and ffprobe can be started."""
    return bool(program("ffmpeg") and program("ffprobe"))


def need_ffmpeg(name: str) -> None:
    """Raise QseError, in which `name` is what needs it, if ffmpeg is not installed."""
    if program("ffmpeg") is None:
        raise QseError(
            f"{name} needs the program ffmpeg, which is not installed: install it, or convert the "
            "file to WAV"
        )


def input_file(path: Path, demuxers: tuple[str, ...] = DEMUXERS) -> list[str]:
    """Return the options that make `path` the next input, in one of these containers."""
    limits = ["-protocol_whitelist", "file", "-max_pixels", str(MOST_PIXELS)]
    return ["-format_whitelist", ",".join(demuxers), *limits, "-i", f"file:{path}"]


def last_message(said: bytes) -> str:
    """Return the last line that ffmpeg printed, without file names and the addresses of its
    parts; the reason itself where qse knows it."""
    for sign, reason in REASONS.items():
        if sign in said:
            return reason
    lines = said.decode(errors="replace").strip().splitlines()
    telling = [line for line in lines if not FOLLOWING.search(line)] or lines
    return re.sub(r"\[[^]]* @ 0x[0-9a-f]+\] |file:.*?: ", "", telling[-1]) if lines else ""
