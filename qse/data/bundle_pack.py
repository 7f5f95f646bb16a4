"""Pack folders of speech and noise as a bundle: numbered parts of limited size, for a training on
another machine.

OUT/part-000.zip  part-001.zip  ...

The recordings are in random order, and each part holds speech and noise in the proportion of the
whole, so that a training can begin with the first part that arrives. An interrupted packing
continues: recordings in the parts that are there are not packed again.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..audio.atomic_write import remove
from ..audio.claim import held
from ..audio.file_mode import strictest
from ..errors import QseError, UsageError
from . import bundle_part, bundle_recordings
from .ahead import begun_ahead
from .bundle_index import PartIndex
from .bundle_part import BundlePart, Refused
from .bundle_recordings import Piece, SourceFile
from .bundle_shards import BundleConfig, PartBuilder
from .datasets import Progress

PARTS = "part-*.zip"
LEAST_SIZE = 20_000  # bytes


@dataclass
class Packed:
    """Hold what a packing did.

    written: the parts that were not there before, with their indexes. faults: why recordings were
    left out.
    """

    written: list[tuple[Path, PartIndex]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def pack(
    speech: Iterable[Path],
    noise: Iterable[Path],
    out: Path,
    config: BundleConfig,
    overwrite: bool = False,
    skip: bool = False,
    progress: Progress | None = None,
) -> Packed:
    """Write the parts that `out` lacks.

    overwrite: replace the parts that are there. skip: leave out recordings that cannot be read.
    progress: called with the number of recordings that are packed, and of all. Raises QseError for
    a recording that cannot be read, UsageError where `out` holds parts of another bundle, or
    another process packs there.
    """
    if config.size < LEAST_SIZE:
        raise UsageError(f"parts of {config.size} bytes are too small: name {LEAST_SIZE} or more")
    files = bundle_recordings.source_files(speech, noise)
    settings = [config.wide_kbit, config.full_kbit, config.shard_seconds, config.seed]
    bundle = bundle_recordings.identity(files, settings)
    packed = Packed()
    with _claimed(out):
        there = _parts(out, bundle, overwrite)
        names = {name for index in there for name in _names(index)}
        number = max((index.part for index in there), default=-1) + 1
        queue = _Queue(bundle_recordings.in_random_order(files, config.seed), names, config)
        with ThreadPoolExecutor(config.threads) as pool:
            pieces = queue.pieces(pool, packed.faults if skip else None, progress)
            source = strictest(file.path for file in files)
            for path, index in _written(pieces, out, pool, config, bundle, number, source):
                packed.written.append((path, index))
    return packed


def _claimed(out: Path) -> ExitStack:
    """Make a folder and claim it until the end of the context."""
    out.mkdir(parents=True, exist_ok=True)
    cure = "wait for its end, or name another folder"
    return held(out / "bundle", UsageError(f"{out}: another process packs there; {cure}"))


def _parts(out: Path, bundle: str, overwrite: bool) -> list[PartIndex]:
    """Return the indexes of the parts of the bundle that are there; none, and remove them, with
    `overwrite`."""
    found = []
    for path in sorted(out.glob(PARTS)):
        try:
            with BundlePart(path) as part:
                found.append(part.index)
        except Refused as error:
            raise UsageError(f"{out}: {error}") from error
    if overwrite:
        for path in out.glob(PARTS):
            remove(path)
        return []
    if any(index.bundle != bundle for index in found):
        raise UsageError(
            f"{out}: holds parts of other recordings, or packed otherwise; overwrite=True replaces "
            "them, or name another folder"
        )
    return found


def _names(index: PartIndex) -> Iterator[tuple[str, str]]:
    """Yield kind and name of the recordings of a part."""
    for shard in index.shards:
        for recording in shard.recordings:
            yield shard.kind, recording.name


@dataclass
class _Queue:
    """The recordings of a bundle in their order; `names`: those that are packed already."""

    files: list[SourceFile]
    names: set[tuple[str, str]]
    config: BundleConfig

    def pieces(
        self, pool: ThreadPoolExecutor, faults: list[str] | None, progress: Progress | None
    ) -> Iterator[Piece]:
        """Read what is not packed yet; add to `faults` what cannot be read, or raise QseError if it
        is None."""
        missing = [file for file in self.files if (file.kind, file.name) not in self.names]
        read = partial(bundle_recordings.pieces, longest=self.config.shard_seconds)
        done = len(self.files) - len(missing)
        for found in begun_ahead(read, missing, pool, self.config.threads):
            try:
                pieces = found.result()
            except QseError as error:
                if faults is None:
                    cure = "repair it, or leave out what cannot be read (skip_unreadable=True)"
                    raise QseError(f"{error}; {cure}") from error
                faults.append(str(error))
                pieces = []
            for piece in pieces:
                if (piece.kind, piece.name) not in self.names:
                    yield piece
            done += 1
            if progress:
                progress(done, len(self.files))


def _written(
    pieces: Iterator[Piece],
    out: Path,
    pool: ThreadPoolExecutor,
    config: BundleConfig,
    bundle: str,
    number: int,
    source: Path | None,
) -> Iterator[tuple[Path, PartIndex]]:
    """Write parts until there are no more recordings; yield each."""
    left: deque[Piece] = deque()  # of an earlier part, in which there was no room
    while True:
        builder = PartBuilder(config, pool)
        piece = left.popleft() if left else next(pieces, None)
        if piece is None:
            return
        while piece and builder.add(piece):
            piece = left.popleft() if left else next(pieces, None)
        index, shards, rest = builder.finish(bundle, number)
        left.extendleft(reversed([*rest, *([piece] if piece else [])]))
        path = out / f"part-{number:03d}.zip"
        bundle_part.write(path, index, shards, source=source)
        yield path, index
        number += 1
