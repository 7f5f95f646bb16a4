"""Read the length that an audio file announces, to detect files that lost their end or that are
read only in part.

libsndfile accepts both without an error. Other damage shows while decoding: a truncated FLAC file
ends with an error.
"""

from __future__ import annotations

import os
import re
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING

from .chunks import read_container
from .formats import BYTES, frame_bytes
from .id3 import tag_size

if TYPE_CHECKING:
    import soundfile

EDGES = (1 << 31, 1 << 32)
NEAR = 1 << 12  # WAV headers written into a pipe announce a length at an edge or up to this below
STREAMED = EDGES[0] - NEAR
MP3_RATES = (  # kbit/s of layer III by the index in the header: MPEG 1, and MPEG 2 and 2.5
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)
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
        return 0.99 * _mp3_size(path) > path.stat().st_size
    if file.format == "NIST":
        return _nist_samples(path) > file.frames
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
    if not says_length(path, file) or (file.format == "OGG" and is_cut(path, file)):
        return None
    if file.format == "NIST":
        return _nist_samples(path)
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
        and _mp3_samples(path, file.samplerate) > 1.02 * file.frames + 8 * 1152
    )


def says_length(path: Path, file: soundfile.SoundFile) -> bool:
    """Return whether the length is stored in the file; for an MP3 file without it, libsndfile
    estimates one."""
    if file.format != "MP3":
        return True
    _, header = mp3_header(path)
    return bool(header and header[7] & 1)


def _nist_samples(path: Path) -> int:
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


def _mp3_samples(path: Path, sample_rate: int) -> int:
    """Return the samples per channel of all frames of an MP3 file, by their headers (ISO/IEC
    11172-3, 2.4.2.3)."""
    at = 0
    end = 0
    samples = 0
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        while (at := data.find(b"\xff", at)) >= 0:
            size, length = _mp3_frame(data[at : at + 4], sample_rate)
            behind = data[at + size : at + size + 4]
            follows = at == end and samples  # a frame; elsewhere another one has to come behind
            if size and (follows or _mp3_frame(behind, sample_rate)[0]):
                at += size
                end = at
                samples += length
            else:  # a tag, or samples with the bits of a header
                at += 1
    return samples


def _mp3_frame(header: bytes, sample_rate: int) -> tuple[int, int]:
    """Return bytes and samples of the layer III frame with this header; 0 and 0 if it is no such
    header."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2 or header[1] & 0x18 == 0x08:
        return 0, 0
    first = header[1] & 0x18 == 0x18  # MPEG 1; the others have half as many samples
    rate = header[2] >> 4
    padding = header[2] >> 1 & 1
    if not 0 < rate < 15 or header[2] & 0x0C == 0x0C:
        return 0, 0
    length = 1152 if first else 576
    return length // 8 * 1000 * MP3_RATES[not first][rate] // sample_rate + padding, length


def _mp3_size(path: Path) -> int:
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
