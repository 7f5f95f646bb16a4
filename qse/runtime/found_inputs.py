"""Find the audio and video files that the inputs of a command mean: files, folders, patterns."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from glob import glob, has_magic
from itertools import takewhile
from os.path import normcase, realpath
from pathlib import Path
from unicodedata import normalize

from ..audio.content import kind_of
from ..audio.formats import audio_below, files_below, suffix_of
from ..audio.input_path import Identity, identity
from ..audio.suffixes import FOREIGN, FORMATS, SUFFIXES
from ..errors import QseError


@dataclass(frozen=True)
class Input:
    """A file to enhance, the folder from which its place in an output folder counts, and the one
    that it must not leave by a link."""

    path: Path
    root: Path
    inside: Identity | None = None


def matches(text: str, refuse: Callable[[QseError], object]) -> list[Input]:
    """Return the files that one input means; call `refuse` with an error for each that is left out.

    Raises QseError if there are none.
    """
    path = Path(text)
    if path.exists() or not any(sign in text for sign in "*?["):
        found = _below(path, refuse)
        if not found:
            suffixes = ", ".join((*FORMATS, *FOREIGN))
            raise QseError(f"{text} holds no audio file (known by their suffix: {suffixes})")
        return found
    found = []
    refused: list[QseError] = []
    start = Path(*takewhile(lambda part: not has_magic(part), path.parts))
    for match in sorted(glob(text, recursive=True)):
        found += _below(Path(match), refused.append, start)
    for error in refused:
        refuse(error)
    if not found and not refused:
        raise QseError(f"{text}: no file matches this pattern")
    return found


def _below(
    path: Path, refuse: Callable[[QseError], object], start: Path | None = None
) -> list[Input]:
    """Return the audio and video files in a folder and below it; for a file the file itself,
    whatever its suffix.

    Files outside the folder, or outside `start` if `path` was found there, to which links lead, are
    refused.
    """
    if path.is_dir():
        files = audio_below(path, SUFFIXES, refuse)
        root = path
    elif start is None:
        return [Input(path, path.parent)]
    else:
        files = [path]
        root = path.parent
    top = start or path
    inside = Path(real_name(top))
    limit = identity(top)
    found = []
    for file in files:
        # of what was found in a folder, the file alone may be a link
        if (start or file.is_symlink()) and inside not in Path(real_name(file)).parents:
            fault = f"{file} is a link to a file outside {top}, and left out"
            refuse(QseError(f"{fault}: name that file itself"))
            continue
        found.append(Input(file, root, limit))
    return found


def left_out(inputs: list[str]) -> list[Path]:
    """Return the files in folders among `inputs` that hold sound by their content, but have no
    suffix that is known, so that `plan` leaves them out."""

    def is_unknown(path: Path) -> bool:
        if suffix_of(path) in SUFFIXES:
            return False
        if path.is_symlink() and inside not in Path(real_name(path)).parents:
            return False
        try:
            return kind_of(path) is not None
        except OSError:
            return False

    found = []
    for text in inputs:
        if os.path.isdir(text):  # false also for names that the system refuses
            inside = Path(real_name(Path(text)))
            found += files_below(Path(text), is_unknown, refuse=lambda error: None)
    return found


def file_name(path: Path) -> str:
    """Return what all names of one file have in common, also where a folder is mounted twice.

    Of a file with several names on the disk, one can be replaced without the others.
    """
    name = real_name(path)
    with suppress(OSError):
        state = os.stat(name)
        if state.st_ino and state.st_nlink == 1:
            return f"{state.st_dev} {state.st_ino}"
    folder, last = os.path.split(name)
    with suppress(OSError):
        state = os.stat(folder)
        if state.st_ino:
            return f"{state.st_dev} {state.st_ino} {last}"
    return name


def real_name(path: Path) -> str:
    """Return what all names of one file have in common: links resolved; on Windows one case; where
    the disk takes names in other cases or forms of composed letters for the same (macOS, FAT), the
    name that its folder lists.
    """
    name = normcase(realpath(path))
    found = Path(name).anchor
    for part in Path(name).parts[1:]:
        found = os.path.join(found, _listed(found, part))
    return found


def _listed(folder: str, name: str) -> str:
    """Return the name under which a folder lists what is there as `name`; `name` where nothing is,
    or another case, or form of composed letters, is another file."""
    others = {name.swapcase(), normalize("NFC", name), normalize("NFD", name)} - {name}
    if not any(os.path.lexists(os.path.join(folder, other)) for other in others):
        return name
    if not os.path.lexists(os.path.join(folder, name)):
        return name
    with suppress(OSError):
        names = os.listdir(folder)
        if name not in names:
            return next((other for other in names if _folded(other) == _folded(name)), name)
    return name


def _folded(name: str) -> str:
    return normalize("NFC", name.casefold())
