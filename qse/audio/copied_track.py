"""Check a sound track that is copied as it is."""

from pathlib import Path

from ..errors import QseError
from .ffmpeg import FfmpegDecoder
from .inspection import Inspection


def damage_of(path: Path, name: str, track: int, inspection: Inspection) -> str | None:
    """Read a sound track, from 1; return in words what is damaged, None if nothing is."""
    try:
        with FfmpegDecoder(path, name, True, track, inspection) as reader:
            for _ in reader.blocks():
                pass
    except QseError as error:
        return str(error)
    return reader.damage
