"""The output manifest of one shard. It is also the record from which an interrupted run is resumed.

Each line is an entry of the input manifest with `audio_filepath` replaced, and an object under the
key `qse`: `state` ("done" or "failed"), `error` and `damage` (a sentence or null; damage: what
may be missing from a recording that is done), `source` (the recording's path in the input
manifest), the settings and their fingerprint. All lines of a recording are appended in one write
and synchronised to the disk.

The hidden file beside it that is locked meanwhile holds a mark of each enhanced file that was
begun: such a file may be replaced by a later run, any other one of that name may not. Where the
recording failed or was given up, the mark is taken back.
"""

import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from itertools import filterfalse
from pathlib import Path
from types import TracebackType
from typing import IO

from ..audio.atomic_write import atomic_path, open_to_append
from ..audio.claim import lock, open_lock
from ..audio.file_mode import Sources
from ..audio.folder_path import held_folder, make_folder, open_named
from ..errors import QseError, UsageError
from .manifest import KEY, PATH, Entry, Recording, dump, parse
from .marks import Marks
from .settings import Settings

DONE = "done"
FAILED = "failed"


def sharded(path: Path, number: int, of: int) -> Path:
    """Return the path of a shard's output manifest: out.2-of-8.jsonl; `path` for one shard."""
    return path if of == 1 else path.with_name(f"{path.stem}.{number}-of-{of}{path.suffix}")


class Journal:
    """The output manifest at `path`, open for appending by one process; a context manager."""

    def __init__(
        self,
        path: Path,
        settings: Settings,
        source: Sources | None = None,
        overwrite: bool = False,
    ):
        """Lock the file, drop a last line that was half written, the lines of failed recordings,
        and incomplete groups. `source`: the input manifest, whose permissions this one does not
        exceed, nor those that it had when it was read. `overwrite`: let enhanced files replace
        any files.

        Raises UsageError if another process has it open, if it holds lines of other settings, or
        lines that `qse clean` did not write; QseError if it cannot be written.
        """
        self.path = path
        self.settings = settings
        self._sources = [source] if source else []
        self._overwrite = overwrite
        try:
            make_folder(path.parent)
            self._lock = _locked(path)
            self._marks = Marks(self._lock, path)
            entries = self._load()
            self._done = Counter(entry[KEY]["source"] for entry in entries)
            self._file = self._appended()
        except OSError as error:
            raise QseError(
                f"{path} cannot be written: {error.strerror}; name another manifest"
            ) from error

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._marks.end()
        with suppress(OSError):  # which `add` has raised
            self._file.close()
        self._lock.close()

    def pending(self, recordings: Iterable[Recording]) -> list[Recording]:
        """Return the recordings that are not finished, or whose enhanced file is gone; forget
        these."""
        left = list(filterfalse(self._finished, recordings))
        again = set()
        for recording in left:
            for entry in recording.entries:
                if self._done.pop(entry[PATH], 0):
                    again.add(entry[PATH])
        if again:
            self._rewrite([entry for entry in self._load() if entry[KEY]["source"] not in again])
        return left

    def begin(self, recording: Recording) -> bool:
        """Note that the file of a recording is being written; return whether it may replace one
        that is there."""
        return self._marks.begin(recording.target, self._overwrite)

    def add(
        self,
        recording: Recording,
        seconds: float | None = None,
        error: str | None = None,
        damage: str | None = None,
    ) -> None:
        """Append the recording's entries: with its length in `seconds`, and `damage`, once its file
        is written, else the `error`."""
        if error:
            self._marks.forget(recording.target)
        state = {"state": FAILED if error else DONE, "error": error, "damage": damage}
        lines = [dump(self._entry(entry, recording, seconds, state)) for entry in recording.entries]
        self._file.write(b"".join(lines))
        self._file.flush()  # a full disk takes a part, and shows here
        os.fsync(self._file.fileno())

    def _entry(
        self, entry: Entry, recording: Recording, seconds: float | None, state: Entry
    ) -> Entry:
        settings = asdict(self.settings) | {"fingerprint": self.settings.fingerprint}
        state = state | {"source": entry[PATH]} | settings
        if state["error"]:
            return entry | {PATH: str(recording.source), KEY: state}
        return {"duration": seconds} | entry | {PATH: str(recording.target), KEY: state}

    def _finished(self, recording: Recording) -> bool:
        if not recording.target.is_file():
            return False
        wanted = Counter(entry[PATH] for entry in recording.entries)
        return wanted.items() <= self._done.items()

    def _load(self) -> list[Entry]:
        """Return the entries of finished recordings; if the file holds anything else, rewrite it
        without that."""
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{self.path} is no regular file: name another manifest")
        try:
            with open(self.path, "rb", opener=open_named) as file:
                own = Sources([self.path])
                own.add(file.fileno())
                self._sources.append(own)
                lines = file.read().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        kept = []
        for number, line in enumerate(lines, 1):
            if number > 1 and line.startswith(b"{") and not line.endswith(b"\n"):
                continue  # half written
            entry = self._checked(line, number)
            if entry[KEY]["state"] == DONE:
                kept.append(entry)
        if len(kept) < len(lines):
            self._rewrite(kept)
        return kept

    def _checked(self, line: bytes, number: int) -> Entry:
        entry = parse(line)
        if entry is None or not isinstance(entry.get(KEY), dict) or "fingerprint" not in entry[KEY]:
            raise UsageError(
                f"{self.path}, line {number}: not written by qse clean; name another manifest"
            )
        state = entry[KEY]
        if state["fingerprint"] != self.settings.fingerprint:
            former = Settings(*map(state.get, asdict(self.settings)))
            change = f"was begun with other settings ({former}, now {self.settings})"
            cure = "use those again, or name another manifest and folder"
            raise UsageError(f"{self.path} {change}: {cure}")
        return entry

    def _rewrite(self, entries: list[Entry]) -> None:
        is_open = hasattr(self, "_file")
        if is_open:  # Windows replaces no open file
            self._file.close()
        sources = Sources.of_all(self._sources)
        replaced = atomic_path(self.path, source=sources, is_named=True)
        with replaced as part, part.open("wb") as file:
            file.writelines(map(dump, entries))
            file.flush()
            os.fsync(file.fileno())
        if is_open:
            self._file = self._appended()

    def _appended(self) -> IO[bytes]:
        return open_to_append(self.path, source=Sources.of_all(self._sources), is_named=True)


def _locked(path: Path) -> IO[bytes]:
    """Return a file beside `path` that this process has locked until it is closed or the process
    ends."""
    with held_folder(path) as (folder, name):
        file = open_lock(folder, f".{name}.lock")
    try:
        free = lock(file)
    except OSError as error:
        file.close()
        why = "qse clean must be the only one that writes it"
        reason = f"cannot be locked ({error.strerror}), and {why}"
        raise QseError(f"{path} {reason}: name a manifest on another file system") from error
    if not free:
        file.close()
        raise UsageError(
            f"{path} is in use by another qse clean: wait for its end, or name another manifest"
        )
    return file
