"""Enhance recordings that are held in memory: bytes, or file objects."""

from pathlib import Path
from typing import Any, BinaryIO

from ..audio.content import inspect
from ..audio.file_mode import allowed_of
from ..audio.probe import Media
from ..audio.suffixes import SUFFIXES
from ..errors import QseError
from ..whole_copy import copy_whole
from .batch_plan import FileJob

Held = bytes | bytearray | memoryview | BinaryIO
NAME = "the recording in memory"


def is_held(source: Any) -> bool:
    """Return whether `source` is the contents of a file, or an object that reads them."""
    return isinstance(source, bytes | bytearray | memoryview) or hasattr(source, "read")


def held_job(source: Held, target: str | Path | None, folder: Path) -> FileJob:
    """Return the job for a recording, which is copied into `folder`.

    target: None: a file in `folder`, of the format of the recording, or a .wav file where that is
    only read. Raises TypeError for a file that is open as text, QseError for a folder as target.
    """
    path = folder / "in"
    if isinstance(source, bytes | bytearray | memoryview):
        path.write_bytes(source)
    else:
        if isinstance(source.read(0), str):
            raise TypeError(f"{_name(source)} is open as text: open it in the mode 'rb'")
        with path.open("wb") as file:
            copy_whole(source, file)
        path.chmod(allowed_of(source, path.stat().st_gid))
    if target is None:
        return FileJob(path, folder / f"out.{_suffix(path)}", _name(source))
    target = Path(target)
    if target.is_dir() or not target.suffix:
        raise QseError(f"{target}: {NAME} has no name to be given in a folder; name a file")
    return FileJob(path, target, _name(source), is_named=True)


def _name(source: Held) -> str:
    name = getattr(source, "name", None)
    return name if isinstance(name, str) and name else NAME


def _suffix(path: Path) -> str:
    """Return the suffix of files of the same kind that are written."""
    found = inspect(path)
    for suffix, row in SUFFIXES.items():
        if row.kinds[:1] != (found.kind,):
            continue
        if row.form or (row.media and row.media.is_video == _has_pictures(found.media)):
            return suffix
    return "wav"


def _has_pictures(media: Media | None) -> bool:
    return bool(media and media.pictures)
