"""Read the length that an audio file announces, to detect files that lost their end or that are
read only in part.

libsndfile accepts both without an error. Other damage shows while decoding: a truncated FLAC file
ends with an error.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from .chunks import read_container
from .formats import BYTES, frame_bytes
from .mp3_frames import read_frames
from .mp3_header import mp3_header, mp3_size
from .ogg_pages import read_pages

if TYPE_CHECKING:
    import soundfile

EDGES = (1 << 31, 1 << 32)
NEAR = 1 << 12  # WAV headers written into a pipe announce a length at an edge or up to this below
STREAMED = EDGES[0] - NEAR
OGG_SOUND = (b"\x01vorbis", b"OpusHead")  # what libsndfile reads in Ogg
BLOCKWISE = ("IMA_ADPCM", "MS_ADPCM", "GSM610", "NMS_ADPCM_16", "NMS_ADPCM_24", "NMS_ADPCM_32")
AU_HEADER = 24  # bytes before the text in the header of an AU file
MOST_FILLING = 1 << 14  # samples; more is a wrong number in the fact chunk
TAGS = 1 << 16  # most bytes of tags after the announced samples
SLOPPY = 64  # tolerated error of a header in bytes: some count the header itself
SIZES = (  # in libsndfile's description of a file
    r"(?:data|SSND|Data Size|riff|Riff size)\s*:\s*(\d+) \(should be (\d+)\)"
)


def is_cut(path: Path, file: soundfile.SoundFile) -> bool:
    """Return whether the end is missing, by the lengths in the headers or the last page of an
    Ogg file."""
    if file.format == "OGG":
        return not _ogg_ends(path)
    if file.format == "MP3":
        return 0.99 * mp3_size(path) > path.stat().st_size
    if file.format == "NIST":
        return nist_samples(path) > file.frames
    if "Seems to be a truncated file" in file.extra_info:  # a VOC file
        return True
    sizes = re.findall(SIZES, file.extra_info)
    return any(int(there) + SLOPPY < int(announced) < STREAMED for announced, there in sizes)


def exact_frames(path: Path, file: soundfile.SoundFile) -> int:
    """Return the samples per channel of a file where libsndfile returns too many.

    It counts those that fill the last block of ADPCM and GSM in WAV, and what follows the samples
    in W64.
    """
    blockwise = file.subtype in BLOCKWISE
    if file.format not in ("WAV", "W64") or not (blockwise or file.format == "W64"):
        return file.frames
    container = read_container(path)
    if container is None:
        return file.frames

    data = container.find(b"data")
    if data and not blockwise and file.subtype in BYTES:
        return min(file.frames, data.size // frame_bytes(file.channels, file.subtype))
    fact = container.find(b"fact")
    stated = int.from_bytes(container.body(fact)[:4], container.dialect.order) if fact else 0
    return stated if stated and 0 < file.frames - stated < MOST_FILLING else file.frames


def announced_frames(path: Path, file: soundfile.SoundFile) -> int | None:
    """Return the samples per channel that the file announces, None if it does not: Ogg does so on
    its last page."""
    if not says_length(path, file):
        return None
    if file.format == "OGG":
        seconds = read_pages(path).seconds
        return None if seconds is None else max(file.frames, round(seconds * file.samplerate))
    if file.format == "NIST":
        return nist_samples(path)
    ratio = 1.0
    for announced, there in re.findall(SIZES, file.extra_info):
        ratio = max(ratio, int(announced) / max(1, int(there)))
    return round(file.frames * ratio)


def has_more(path: Path, file: soundfile.SoundFile) -> bool:
    """Return whether libsndfile stops before the end of the file.

    It does so for files joined into one, several tracks in Ogg, an MP3 file with a variable bit
    rate and no length, and a WAV file that is longer than its header says.
    """
    if file.format == "OGG":
        return has_tracks(path) or _ogg_goes_on(path)
    if file.format in ("WAV", "WAVEX"):
        held = file.frames * frame_bytes(file.channels, file.subtype)
        size = path.stat().st_size
        riff = re.search(r"^RIF[FX] : (\d+)", file.extra_info, re.MULTILINE)
        unfinished = riff is not None and size - int(riff[1]) > TAGS
        announced = any(edge - NEAR <= held <= edge for edge in EDGES)
        return size - held >= 1 << 32 or ((announced or unfinished) and size - held > TAGS)
    return (
        file.subtype == "MPEG_LAYER_III"
        and read_frames(path).samples > 1.02 * file.frames + 8 * 1152
    )


def says_length(path: Path, file: soundfile.SoundFile) -> bool:
    """Return whether the length is stored in the file; for an MP3 file without it, libsndfile
    estimates one."""
    if file.format != "MP3":
        return True
    _, header = mp3_header(path)
    return bool(header and header[7] & 1)


def nist_samples(path: Path) -> int:
    """Return the samples per channel by the header of a NIST file, 0 if it does not say."""
    with path.open("rb") as file:
        said = re.search(rb"^sample_count -i (\d+)", file.read(1024), re.MULTILINE)
    return int(said[1]) if said else 0


def has_annotation(path: Path) -> bool:
    """Return whether the header of an AU file holds text. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(AU_HEADER)
        start = int.from_bytes(head[4:8], "little" if head[:4] == b"dns." else "big")
        text = file.read(min(max(0, start - AU_HEADER), 1 << 16))
    return bool(text.strip(b"\0 "))


def _ogg_ends(path: Path) -> bool:
    """Return whether the last page is complete (RFC 3533, section 6).

    Not all recorders mark it as the last.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - (1 << 16)))
        tail = file.read()
    page = tail[max(0, tail.rfind(b"OggS")) :]
    header = 27 + page[26] if len(page) > 26 else len(page) + 1
    return len(page) >= header + sum(page[27:header])


def has_tracks(path: Path) -> bool:
    """Return whether an Ogg file holds several sound tracks, of which libsndfile reads the first.

    All tracks begin before the first of them goes on (RFC 3533, section 4).
    """
    count = 0
    with path.open("rb") as file:
        while (header := file.read(27))[:4] == b"OggS" and len(header) == 27 and header[5] & 2:
            body = file.read(sum(file.read(header[26])))
            count += body.startswith(OGG_SOUND)
    return count > 1


def _ogg_goes_on(path: Path) -> bool:
    """Return whether a stream begins after another one has ended."""
    ended = False
    with path.open("rb") as file:
        while (header := file.read(27))[:4] == b"OggS" and len(header) == 27:
            if ended and header[5] & 2:
                return True
            ended = ended or bool(header[5] & 4)
            file.seek(sum(file.read(header[26])), os.SEEK_CUR)
    return False
