"""Read a NeMo manifest: JSON Lines with `audio_filepath`, `duration`, and any other keys.

Several lines may name one recording (`offset` and `duration` select a part of it); it is enhanced
once.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..audio.file_mode import Sources
from ..audio.folder_path import link_below
from ..audio.formats import format_of
from ..audio.suffixes import FORMATS
from ..errors import QseError, UsageError
from ..runtime.found_inputs import file_name

PATH = "audio_filepath"
KEY = "qse"  # what `qse clean` adds to an entry
TARRED = "shard_id"  # key of entries whose recordings are inside tar files

Entry = dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """One audio file, the file to write, and the manifest's entries that name it, in their
    order."""

    source: Path
    target: Path
    entries: list[Entry]


def recordings(
    manifest: Path, folder: Path, root: Path | None = None, suffix: str | None = None
) -> list[Recording]:
    """Return the recordings of `manifest`, in the order in which it names them.

    Relative paths count from the manifest's folder. A file below `root` (default: the manifest's
    folder) keeps its place below `folder`; another file gets its absolute path below `folder`.
    `suffix` (as "flac") changes the format.

    Raises QseError if the manifest cannot be read, UsageError for a line that is no entry, one of a
    tarred data set or with a key KEY of its own, a target that two recordings share, or one that
    would replace a recording.
    """
    manifest = Path(os.path.abspath(manifest))
    root = Path(os.path.abspath(root)) if root else manifest.parent
    found: dict[Path, Recording] = {}
    for entry in read_entries(manifest):
        source = source_of(entry, manifest)
        _check_keys(entry, source, manifest)
        if source not in found:
            target = _target(source, root, Path(os.path.abspath(folder)), suffix)
            found[source] = Recording(source, target, [])
        found[source].entries.append(entry)
    _check_targets(list(found.values()), Path(os.path.abspath(folder)))
    return list(found.values())


def read_entries(manifest: Path) -> list[Entry]:
    """Return the entries of `manifest`; blank lines are skipped. Raises QseError, or UsageError
    with the line."""
    try:
        with manifest.open("rb") as file:
            Sources.opened(manifest, file.fileno())
            lines = file.read().splitlines()
    except OSError as error:
        raise QseError(f"{manifest} cannot be read: {error.strerror}") from error
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        entry = parse(line)
        if entry is None:
            fault = f'not a JSON object with the key "{PATH}"'
            raise UsageError(f"{manifest}, line {number}: {fault}; correct the line")
        entries.append(entry)
    if not entries:
        raise UsageError(f"{manifest} names no recording: a manifest has one JSON object a line")
    return entries


def _check_keys(entry: Entry, source: Path, manifest: Path) -> None:
    """Raise UsageError for a folder, for an entry of a tarred data set, or one that holds KEY
    already."""
    line = f"{manifest}, {entry[PATH]}"
    if source.is_dir():
        raise UsageError(f"{line}: is a folder; a manifest names recordings")
    if TARRED in entry and not source.exists():
        cure = "extract the tar files and clean the manifest from which they were made"
        raise UsageError(f'{line}: "{TARRED}" says that it is inside a tar file; {cure}')
    if KEY in entry:
        cure = f"remove it (jq -c 'del(.{KEY})') or rename it"
        raise UsageError(f'{line}: has a key "{KEY}", which qse clean would replace; {cure}')


def parse(line: bytes) -> Entry | None:
    """Return the entry of one line, None if it is no JSON object that names an audio file."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    name = entry.get(PATH) if isinstance(entry, dict) else None
    return entry if isinstance(name, str) and _is_path(name) else None


def _is_path(name: str) -> bool:
    """Return whether a text of JSON, which may hold anything, can be the path of a file."""
    try:
        return bool(name) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def dump(entry: Entry) -> bytes:
    """Return the line of an entry, in UTF-8, with its newline."""
    try:
        return json.dumps(entry, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # a path whose bytes are not UTF-8
        return json.dumps(entry).encode() + b"\n"


def source_of(entry: Entry, manifest: Path) -> Path:
    """Return the absolute path of the audio file that an entry of `manifest` names."""
    return Path(os.path.abspath(manifest.parent / entry[PATH]))


def _target(source: Path, root: Path, folder: Path, suffix: str | None) -> Path:
    inside = source.is_relative_to(root)
    target = folder / (source.relative_to(root) if inside else source.relative_to(source.anchor))
    if suffix is None:  # libsndfile does not write what only ffmpeg reads
        return target if format_of(target) else target.with_suffix(".wav")
    if suffix.lower() not in FORMATS:
        raise UsageError(f"no audio format has the suffix {suffix}; known are {', '.join(FORMATS)}")
    return target.with_suffix(f".{suffix}")


def _check_targets(found: list[Recording], folder: Path) -> None:
    sources = {file_name(recording.source) for recording in found}
    first: dict[str, Path] = {}
    for recording in found:
        source = recording.source
        target = recording.target
        if link := link_below(folder, target):
            fault = f"would be written through the link {link}"
            raise UsageError(f"{target} {fault}: name another folder, or remove the link")
        real = file_name(target)
        if real in sources:
            fault = "is a recording of the manifest and would be replaced"
            raise UsageError(f"{target} {fault}: name another folder")
        if first.setdefault(real, source) != source:
            both = f"{source} and {first[real]}"
            raise UsageError(f"{both} would both be written to {target}: clean them separately")
