"""Cache a corpus that is too large for memory: one file of samples on disk, written once and
memory-mapped.

NAME.int16  the recordings end to end      NAME.json  what they are: path, bytes and time of every
file, lengths
"""

import json
from pathlib import Path
from typing import Any

import torch

from ..audio.atomic_write import write_text
from ..errors import QseError
from .bandwidth import bandwidth
from .corpus import Corpus, group_of, none_reaches, read_or_faults, refuse
from .datasets import Progress

FILES_AT_ONCE = 256  # in memory while the cache is written


def cached_corpus(
    paths: list[Path],
    folder: Path,
    cache: Path,
    sample_rate: int = 16000,
    progress: Progress | None = None,
    least_cutoff: float = 0.0,
) -> Corpus:
    """Return the recordings of `paths` below `folder` from `cache` (a path without suffix), updated
    if necessary.

    Groups are the sub-folders of `folder`; `progress` is called with (done, all) of the files while
    it is written; `least_cutoff` as in `Corpus.read`. Raises QseError for files that cannot be
    used, and for a full disk.
    """
    paths = sorted(paths, key=lambda path: (group_of(path, folder), path))
    samples = cache.with_suffix(".int16")
    index = cache.with_suffix(".json")
    faults = list[str]()
    files = {path: _identity(path, folder) for path in paths}
    content = {
        "sample_rate": sample_rate,
        "least_cutoff": least_cutoff,
        "files": list(files.values()),
    }
    try:
        found = _index(index, samples)
        if {**found, "lengths": None} != {**content, "lengths": None}:
            lengths, faults = _write(paths, samples, sample_rate, least_cutoff, progress)
            good = [files[path] for path in lengths]
            found = {**content, "files": good, "lengths": list(lengths.values())}
            write_text(index, json.dumps(found))
    except OSError as error:
        raise QseError(
            f"{cache.parent}: cannot be written ({error.strerror}); free some space"
        ) from error
    refuse(faults)  # the cache is complete once they are removed
    groups = []
    kept = []
    for length, path in zip(found["lengths"], paths, strict=True):
        if length:
            groups.append(group_of(path, folder))
            kept.append(length)
    if not kept:
        raise none_reaches(folder, least_cutoff)
    audio = torch.from_file(str(samples), size=sum(kept), dtype=torch.int16)
    return Corpus.from_samples(audio, kept, groups, sample_rate)


def _identity(path: Path, folder: Path) -> list[str | int]:
    """Return what tells that a file has not changed: its name, size and time."""
    status = path.stat()
    return [path.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns]


def _index(index: Path, samples: Path) -> dict[str, Any]:
    """Return what the cache holds; {} if there is none, or it is damaged:
    it is then written again."""
    try:
        found = json.loads(index.read_text()) if index.exists() and samples.exists() else {}
        return found if found and 2 * sum(found["lengths"]) == samples.stat().st_size else {}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


def _write(
    paths: list[Path],
    samples: Path,
    sample_rate: int,
    least_cutoff: float,
    progress: Progress | None,
) -> tuple[dict[Path, int], list[str]]:
    """Write all recordings into one file; return their lengths, and the reasons why others cannot
    be used.

    The length of a recording whose content ends below `least_cutoff` is 0.
    """
    samples.parent.mkdir(parents=True, exist_ok=True)
    samples.with_suffix(".json").unlink(missing_ok=True)  # until the file is complete
    samples.unlink(missing_ok=True)  # a run that has mapped it keeps its data
    lengths = {}
    faults = []
    with samples.open("wb") as file:
        for first in range(0, len(paths), FILES_AT_ONCE):
            some = paths[first : first + FILES_AT_ONCE]
            for path, recording in zip(some, read_or_faults(some, sample_rate), strict=True):
                if isinstance(recording, str):
                    faults.append(recording)
                    continue
                if least_cutoff and bandwidth(recording, sample_rate) < least_cutoff:
                    recording = recording[:0]
                file.write(recording.tobytes())
                lengths[path] = len(recording)
            if progress:
                progress(first + len(some), len(paths))
    return lengths, faults
