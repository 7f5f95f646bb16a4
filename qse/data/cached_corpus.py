"""Cache a corpus that is too large for memory: one file of samples on disk, memory-mapped.

NAME.int16           the recordings end to end
NAME.json            what they are, in the same order: path, bytes and time of every file, lengths;
                     and the files that are left out because they cannot be read
NAME.unreadable.txt  why files cannot be read, a line for each

Recordings are only appended: a run that has mapped the file keeps its data, a process that is
interrupted loses what it wrote in the last SAVED_EVERY seconds, and new files cost their own time.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..audio.atomic_write import open_to_append, remove, write_text
from ..audio.claim import claim_in_turn
from ..audio.file_mode import Sources
from ..audio.folder_path import make_folder, open_found
from ..audio.held_file import last_change
from ..errors import QseError
from .bandwidth import bandwidth
from .checked_json import dumped, loaded
from .corpus import Corpus, none_reaches, read_or_faults, refuse
from .datasets import Progress, top_folder
from .mapped_samples import mapped

FILES_AT_ONCE = 32  # in memory while the cache is written
SAVED_EVERY = 30.0  # seconds

Identity = tuple[str, int, int]  # path below the folder, bytes, time: a changed file has another


@dataclass
class Index:
    """Describe what a cache holds.

    lengths: in samples, in the order of the samples; 0 for a recording whose content ends below the
    least cutoff. skipped: files that are left out, and why. sources: what it is made of.
    """

    lengths: dict[Identity, int] = field(default_factory=dict)
    skipped: dict[Identity, str] = field(default_factory=dict)
    sources: Sources = field(default_factory=lambda: Sources([]))

    @property
    def bytes(self) -> int:
        """Return the size of the samples."""
        return 2 * sum(self.lengths.values())

    def lacks(self, identity: Identity) -> bool:
        """Return whether a file is to be added."""
        return identity not in self.lengths and identity not in self.skipped


@dataclass(frozen=True)
class CorpusCache:
    """A cache at `path` (without suffix) of files below `folder`.

    least_cutoff: as in `Corpus.read`. skip: leave out, from now on, files that cannot be read.
    """

    path: Path
    folder: Path
    sample_rate: int = 16000
    least_cutoff: float = 0.0
    skip: bool = False

    def corpus(
        self,
        paths: list[Path],
        progress: Progress | None = None,
        group_of: Callable[[str], str] = top_folder,
    ) -> Corpus:
        """Return the recordings of `paths`, which are added to the cache where it lacks them.

        progress: called with (done, all) of the files that are added. group_of: of a path below the
        folder. Raises QseError for files that cannot be used, and for a full disk.
        """
        files = {identity_of(path, self.folder): path for path in paths}
        index = self.added(files, progress)
        starts = dict(zip(index.lengths, _starts(index), strict=True))
        chosen = []
        for identity in files:
            if index.lengths.get(identity):
                chosen.append((group_of(identity[0]), identity[0].split("/"), identity))
        if not chosen:
            raise none_reaches(self.folder, self.least_cutoff)
        groups = []
        lengths = []
        begins = []
        for group, _, identity in sorted(chosen):
            groups.append(group)
            lengths.append(index.lengths[identity])
            begins.append(starts[identity])
        samples = mapped(self.samples)
        return Corpus.from_samples(samples, lengths, groups, self.sample_rate, begins)

    def added(self, files: dict[Identity, Path], progress: Progress | None = None) -> Index:
        """Add what the cache lacks, while no other process does; return what it holds then."""
        try:
            index = self.index()
            if any(map(index.lacks, files)):
                make_folder(self.path.parent)
                with claim_in_turn(self.samples):
                    index = self.index()  # another process may have written it
                    faults = self._write(index, files, progress)
                self._report(index, faults)
        except OSError as error:
            raise QseError(
                f"{self.path.parent}: cannot be written ({error.strerror}); free some space"
            ) from error
        return index

    @property
    def unreadable(self) -> Path:
        """Return the path of the list of files that cannot be read."""
        return self.path.with_suffix(".unreadable.txt")

    @property
    def samples(self) -> Path:
        """Return the path of the samples."""
        return self.path.with_suffix(".int16")

    @property
    def _json(self) -> Path:
        return self.path.with_suffix(".json")

    def _settings(self) -> dict[str, Any]:
        return {"sample_rate": self.sample_rate, "least_cutoff": self.least_cutoff}

    def index(self) -> Index:
        """Return what the cache holds: nothing if there is none, or it is damaged, or of other
        settings. It is then written anew."""
        try:
            with open(self._json, encoding="utf-8", opener=open_found) as file:
                found = loaded(file.read())
                index = Index()
                index.sources.add(file.fileno())
            for file, length in zip(found["files"], found["lengths"], strict=True):
                index.lengths[_read_identity(file)] = length
            for file, reason in found.get("skipped", []):
                index.skipped[_read_identity(file)] = reason
            same = self._settings().items() <= found.items()
            whole = index.bytes <= self.samples.stat().st_size
        except (FileNotFoundError, ValueError, TypeError, LookupError, RecursionError):
            return Index()
        return index if same and whole else Index()

    def _write(
        self, index: Index, files: dict[Identity, Path], progress: Progress | None
    ) -> list[str]:
        """Append what `index` lacks; return why files cannot be read."""
        if index.lengths and self.samples.stat().st_nlink > 1:
            index.lengths.clear()  # another cache has the same file: it stays as it is
        missing = [(identity, path) for identity, path in files.items() if index.lacks(identity)]
        faults = []
        if not index.lengths:
            remove(self._json)  # which would fit the new samples, too
            remove(self.samples)  # a run that has mapped it keeps its data
        with Sources(path for _, path in missing) as source:
            with open_to_append(self.samples, source=source) as file:
                file.truncate(index.bytes)  # what was written after the index
            saved = time.monotonic()
            for first in range(0, len(missing), FILES_AT_ONCE):
                some = missing[first : first + FILES_AT_ONCE]
                recordings = read_or_faults([path for _, path in some], self.sample_rate)
                with open_to_append(self.samples, source=source) as file:  # as they were opened
                    faults += self._append(file, index, some, recordings)
                    is_last = first + len(some) == len(missing)
                    if is_last or time.monotonic() > saved + SAVED_EVERY:
                        self._save(file, index)
                        saved = time.monotonic()
                if progress:
                    progress(first + len(some), len(missing))
        return faults

    def _append(
        self,
        file: IO[bytes],
        index: Index,
        some: list[tuple[Identity, Path]],
        recordings: list[np.ndarray | str],
    ) -> list[str]:
        faults = []
        for (identity, _), recording in zip(some, recordings, strict=True):
            if isinstance(recording, str):
                faults.append(recording)
                if self.skip:
                    index.skipped[identity] = recording
                continue
            if self.least_cutoff and bandwidth(recording, self.sample_rate) < self.least_cutoff:
                recording = recording[:0]
            file.write(recording.tobytes())
            index.lengths[identity] = len(recording)
        return faults

    def _save(self, file: IO[bytes], index: Index) -> None:
        """Write the index, after the samples that it describes are on the disk."""
        file.flush()
        os.fsync(file.fileno())
        content = {
            **self._settings(),
            "files": list(index.lengths),
            "lengths": list(index.lengths.values()),
            "skipped": list(index.skipped.items()),
        }
        index.sources.add(file.fileno())
        write_text(self._json, dumped(content), source=index.sources)

    def _report(self, index: Index, faults: list[str]) -> None:
        """Write the list of files that cannot be read. QseError if they are not left out."""
        listed = dict.fromkeys([*index.skipped.values(), *faults])
        if listed:
            text = "".join(f"{fault}\n" for fault in listed)
            write_text(self.unreadable, text, source=index.sources)
        else:
            remove(self.unreadable)
        if not self.skip:
            refuse(faults, f"; all of them are in {self.unreadable}")


def identity_of(path: Path, folder: Path) -> Identity:
    """Return by what a file below `folder` is recognised. Raises OSError."""
    status = path.stat()
    return path.relative_to(folder).as_posix(), status.st_size, last_change(status)


def _read_identity(values: list[Any]) -> Identity:
    """Return the identity of a file as JSON has it."""
    return values[0], values[1], values[2]


def _starts(index: Index) -> list[int]:
    """Return where each recording begins in the samples."""
    lengths = np.fromiter(index.lengths.values(), np.int64, len(index.lengths))
    return (lengths.cumsum() - lengths).tolist()
