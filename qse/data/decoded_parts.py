"""Keep the decoded recordings of the parts of a bundle on the disk: samples that only grow.

FOLDER/speech-16000.int16  noise-16000.int16  ...  the recordings end to end, for each rate
FOLDER/IDENTITY.json       of each part: where its recordings lie in these files, and their groups

A part is there when its JSON file is, which is written last. A training that has mapped the files
keeps its data while parts are added; what a killed process left behind the last part is
overwritten.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copyfileobj

import numpy as np
import soxr

from ..audio.atomic_write import atomic_path, open_to_append, remove, write_text
from ..audio.claim import claim_in_turn
from ..audio.file_mode import Readers
from ..audio.folder_path import make_folder, open_found
from ..audio.opus import to_int16
from ..bounded_text import read_text
from ..errors import QseError
from ..machine import cores
from .ahead import begun_ahead
from .bundle_index import KINDS
from .bundle_part import BundlePart
from .checked_json import dumped, loaded

LONGEST = 1 << 28  # characters of the table of a part
Stream = tuple[str, int]  # kind, sample rate in Hz


@dataclass(frozen=True)
class Extent:
    """Locate the recordings of a part in the file of a stream: from sample `start` on, end to end;
    lengths in samples, and the group of each."""

    start: int
    lengths: list[int]
    groups: list[str]

    @property
    def end(self) -> int:
        """Return the sample behind the last one."""
        return self.start + sum(self.lengths)


@dataclass(frozen=True)
class Decoded:
    """A part that has been decoded; `name`: of its file."""

    identity: str
    name: str
    bundle: str
    part: int
    extents: dict[Stream, Extent]

    def hours(self, kind: str) -> float:
        """Return the hours of recordings of a kind, at the rate that has most."""
        hours = 0.0
        for (of_kind, rate), extent in self.extents.items():
            if of_kind == kind:
                hours = max(hours, sum(extent.lengths) / rate / 3600)
        return hours


class DecodedParts:
    """The decoded parts in `folder`. rates: sample rates in Hz that are decoded, each with the
    frequency that the content of a recording must reach to be used there."""

    def __init__(self, folder: Path, rates: dict[int, float]):
        self.folder = folder
        self.rates = rates
        self.streams: list[Stream] = []
        for kind in KINDS:
            for rate in rates:
                self.streams.append((kind, rate))
        self._found: dict[str, Decoded] = {}

    def found(self) -> dict[str, Decoded]:
        """Return the parts that are there, by identity."""
        for path in self.folder.glob("*.json"):
            if path.stem not in self._found:
                part = self._read(path)
                if part:
                    self._found[path.stem] = part
        return self._found

    def samples(self, stream: Stream) -> Path:
        """Return the path of the samples of a stream."""
        kind, rate = stream
        return self.folder / f"{kind}-{rate}.int16"

    def lacks(self) -> str:
        """Return what there must be to train on and is not there, empty if nothing."""
        for kind, rate in self.streams:
            if not any(part.extents[kind, rate].lengths for part in self.found().values()):
                least = self.rates[rate]
                return f"{kind} that reaches {least / 1000:g} kHz" if least else kind
        return ""

    def add(self, part: BundlePart) -> bool:
        """Decode a part; return False if it is there already, decoded by another process.

        Raises Refused if it is damaged, which leaves everything as it was, OSError for a full disk.
        """
        make_folder(self.folder)
        with claim_in_turn(self.folder / "parts"):
            if part.identity in self.found():
                return False
            self._write(part)
        return True

    def _write(self, part: BundlePart) -> None:
        self._forget_damaged()
        extents = {}
        with ExitStack() as stack:
            files = {}
            for stream in self.streams:
                start = self._end(stream)
                extents[stream] = Extent(start, [], [])
                _make_own(self.samples(stream))
                file = stack.enter_context(
                    open_to_append(self.samples(stream), source=part.readers)
                )
                file.truncate(2 * start)  # what a killed process has left
                files[stream] = file
            threads = max(1, cores() - 1)
            numbers = range(len(part.index.shards))
            with ThreadPoolExecutor(threads) as pool:
                for shard in begun_ahead(partial(self._decoded, part), numbers, pool, threads):
                    for stream, group, samples in shard.result():
                        files[stream].write(samples.tobytes())
                        extents[stream].lengths.append(len(samples))
                        extents[stream].groups.append(group)
            for file in files.values():
                file.flush()
                os.fsync(file.fileno())
        content = {"name": part.path.name, "bundle": part.index.bundle, "part": part.index.part}
        rows = []
        for (kind, rate), extent in extents.items():
            rows.append([kind, rate, extent.start, extent.lengths, extent.groups])
        text = dumped({**content, "streams": rows})
        write_text(self.folder / f"{part.identity}.json", text, source=part.readers)

    def _forget_damaged(self) -> None:
        """Remove the tables of parts whose samples are not there, before others take their place,
        which these tables would fit, too."""
        for path in self.folder.glob("*.json"):
            if path.stem not in self._found:
                remove(path)

    def _decoded(self, part: BundlePart, number: int) -> list[tuple[Stream, str, np.ndarray]]:
        """Decode a shard: the stream, the group and the samples (int16) of each recording."""
        shard = part.index.shards[number]
        audio = part.audio(number)
        found = []
        for recording in shard.recordings:
            samples = audio[recording.start : recording.start + recording.samples]
            for rate, least in self.rates.items():
                if min(recording.bandwidth, shard.sample_rate / 2) < least:
                    continue
                converted = _at_rate(samples, shard.sample_rate, rate)
                if len(converted):
                    found.append(((shard.kind, rate), recording.group, converted))
        return found

    def _end(self, stream: Stream) -> int:
        """Return where the samples of all parts end."""
        return max((part.extents[stream].end for part in self._found.values()), default=0)

    def _read(self, path: Path) -> Decoded | None:
        """Read the JSON file of a part; None if it is damaged: the part is then decoded anew."""
        try:
            content = loaded(read_text(path, LONGEST, opener=open_found))
            extents: dict[Stream, Extent] = {}
            for kind, rate, start, lengths, groups in content["streams"]:
                extents[kind, rate] = Extent(start, lengths, groups)
            part = Decoded(path.stem, content["name"], content["bundle"], content["part"], extents)
            for stream in self.streams:
                if 2 * part.extents[stream].end > self.samples(stream).stat().st_size:
                    return None
        except (FileNotFoundError, ValueError, TypeError, LookupError, RecursionError):
            return None
        except OSError as error:
            raise QseError(f"{path} cannot be read: {error.strerror}; delete it") from error
        return part


def _make_own(path: Path) -> None:
    """Copy a file that another folder has, too, as a copy by second names: that one stays."""
    if not path.exists():
        return
    with open(path, "rb", opener=open_found) as file:
        if os.fstat(file.fileno()).st_nlink > 1:
            readers = Readers.of(file.fileno())
            with atomic_path(path, source=readers) as part, part.open("wb") as copy:
                copyfileobj(file, copy)


def _at_rate(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    """Return int16 samples at another rate."""
    if rate == wanted:
        return samples
    return to_int16(soxr.resample(samples.astype(np.float32) / 32768, rate, wanted))
