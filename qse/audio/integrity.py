"""Find damage that the decoders do not report: they leave out what they cannot read."""

from __future__ import annotations

import re
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from .chunks import read_container
from .containers import SLOPPY, nist_samples, says_length
from .formats import BYTES, frame_bytes
from .mp3_frames import read_frames
from .ogg_pages import Pages, read_pages

if TYPE_CHECKING:
    import soundfile

NAMED = 3  # places in a message
SAMPLES = re.compile(r"(?:data|SSND|Data Size)\s*:\s*(\d+) \(should be (\d+)\)")


def hidden_damage(path: Path, file: soundfile.SoundFile) -> str | None:
    """Return what is wrong with a file that libsndfile reads, None if nothing is. Raises
    OSError."""
    if file.format == "OGG":
        return page_damage(read_pages(path))
    if file.format == "MP3" and not says_length(path, file):
        return frame_damage(path, file.samplerate)
    if file.format == "NIST" and nist_samples(path) != file.frames:
        return f"its header states {nist_samples(path)} samples, and {file.frames} are there"
    return _contradiction(path, file)


def page_damage(pages: Pages) -> str | None:
    """Return what is wrong with the pages of an Ogg file."""
    return _named(pages.places) if pages.places else None


def frame_damage(path: Path, sample_rate: int) -> str | None:
    """Return what is wrong with an MP3 file that does not say its length."""
    frames = read_frames(path)
    places = [f"bytes are no frames at {before / sample_rate:.2f} s" for before in frames.holes]
    if frames.is_cut:
        places.append("its last frame is cut")
    return _named(places) if places else None


def missing_at_end(path: Path, file: soundfile.SoundFile) -> str | None:
    """Return in words what a file lacks that is read all the same: the last few samples that its
    header states, or the mark of the last page of an Ogg file."""
    if file.format == "OGG":
        unmarked = "its last page is not marked as such: what came behind it, if anything, is lost"
        return None if read_pages(path).has_ends else unmarked
    missing = _missing_bytes(path, file) if file.subtype in BYTES else 0
    if not missing:
        return None
    count = ceil(missing / frame_bytes(file.channels, file.subtype))
    return f"its header states {count} more samples than there are"


def _missing_bytes(path: Path, file: soundfile.SoundFile) -> int:
    """Return by how many bytes the samples are fewer than the header states, 0 if that is more than
    a file may lack and still be read."""
    missing = 0
    for announced, there in SAMPLES.findall(file.extra_info):
        missing = int(announced) - int(there)
    if container := read_container(path):
        data = container.find(b"data") or container.find(b"SSND")
        missing = data.missing if data else missing
    return missing if 0 < missing <= SLOPPY else 0


def _contradiction(path: Path, file: soundfile.SoundFile) -> str | None:
    """Return how the format chunk of a WAV file contradicts itself."""
    container = read_container(path) if file.format in ("WAV", "WAVEX", "RF64", "W64") else None
    chunk = container.find(b"fmt ") if container else None
    if not container or not chunk or file.subtype not in BYTES:
        return None
    block = int.from_bytes(container.body(chunk)[12:14], container.dialect.order)
    wanted = frame_bytes(file.channels, file.subtype)
    if block == wanted:
        return None
    return f"its header states {block} and {wanted} bytes for a sample of all channels"


def _named(places: list[str]) -> str:
    more = f", and at {len(places) - NAMED} more places" if len(places) > NAMED else ""
    return ", ".join(places[:NAMED]) + more
