"""Pack folders of speech and noise as a bundle: numbered parts of limited size, for a training on
another machine.

OUT/part-000.zip  part-001.zip  ...

The recordings are in random order, and each part holds speech and noise in the proportion of the
whole, so that a training can begin with the first part that arrives. An interrupted packing
continues: recordings in the parts that are there are not packed again.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..audio.atomic_write import remove
from ..audio.claim import held
from ..audio.file_mode import Sources
from ..audio.folder_path import entered_folder, make_folder
from ..errors import QseError, UsageError
from ..stop_signals import put_off
from . import bundle_part, bundle_recordings
from .ahead import begun_ahead
from .bundle_index import PartIndex
from .bundle_part import BundlePart, Refused
from .bundle_recordings import Piece, SourceFile
from .bundle_shards import BundleConfig, PartBuilder
from .datasets import Progress

PARTS = "part-*.zip"
NEW = ".qse-"  # in front of the name of a part until it takes the place of former ones
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

    overwrite: replace the parts that are there, once all new ones are written. skip: leave out
    recordings that cannot be read. progress: called with the number of recordings that are packed,
    and of all. Raises QseError for a recording that cannot be read, UsageError where `out` holds
    parts of another bundle, or another process packs there.
    """
    if config.size < LEAST_SIZE:
        raise UsageError(f"parts of {config.size} bytes are too small: name {LEAST_SIZE} or more")
    files = bundle_recordings.source_files(speech, noise)
    settings = [config.wide_kbit, config.full_kbit, config.shard_seconds, config.seed]
    bundle = bundle_recordings.identity(files, settings)
    packed = Packed()
    with _claimed(out):
        former = _parts(out)
        there = [] if overwrite else _of_bundle(former.values(), bundle, out)
        names = {name for index in there for name in _names(index)}
        number = max((index.part for index in there), default=-1) + 1
        queue = _Queue(bundle_recordings.in_random_order(files, config.seed), names, config)
        replaced = list(former) if overwrite else []
        with (
            _in_place_of(replaced, out) as prefix,
            ThreadPoolExecutor(config.threads) as pool,
            Sources(file.path for file in files) as source,
        ):
            pieces = queue.pieces(pool, packed.faults if skip else None, progress)
            for index, shards in _filled(pieces, pool, config, bundle, number):
                name = f"part-{index.part:03d}.zip"
                bundle_part.write(out / f"{prefix}{name}", index, shards, source=source)
                packed.written.append((out / name, index))
    return packed


def _claimed(out: Path) -> ExitStack:
    """Make a folder and claim it until the end of the context."""
    make_folder(out)
    cure = "wait for its end, or name another folder"
    return held(out / "bundle", UsageError(f"{out}: another process packs there; {cure}"))


def _parts(out: Path) -> dict[Path, PartIndex]:
    """Return the parts that are there, with their indexes."""
    found = {}
    for path in sorted(out.glob(PARTS)):
        try:
            with BundlePart(path) as part:
                found[path] = part.index
        except Refused as error:
            raise UsageError(f"{out}: {error}") from error
    return found


def _of_bundle(found: Collection[PartIndex], bundle: str, out: Path) -> Collection[PartIndex]:
    """Return the indexes `found`. Raises UsageError if one is of another bundle."""
    if any(index.bundle != bundle for index in found):
        raise UsageError(
            f"{out}: holds parts of other recordings, or packed otherwise; overwrite=True replaces "
            "them, or name another folder"
        )
    return found


@contextmanager
def _in_place_of(former: list[Path], out: Path) -> Iterator[str]:
    """Yield what the names of new parts begin with; put these in the place of the `former` ones at
    the end, remove them on an exception."""
    _remove_new(out)  # of a packing that was killed
    if not former:
        yield ""
        return
    try:
        yield NEW
    except BaseException:
        _remove_new(out)
        raise
    names = [path.name.removeprefix(NEW) for path in sorted(out.glob(NEW + PARTS))]
    with put_off():  # with half of them, neither bundle would be there
        try:
            _replace(former, names, out)
        except BaseException:
            _replace(former, names, out)
            raise


def _replace(former: list[Path], names: list[str], out: Path) -> None:
    """Put new parts in the place of former ones, as far as that has not happened."""
    with entered_folder(out) as folder:
        for name in names:
            if folder.state(NEW + name):
                folder.replace(NEW + name, name)
    for path in former:
        if names and path.name not in names:
            remove(path)


def _remove_new(out: Path) -> None:
    for path in out.glob(NEW + PARTS):
        remove(path)


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


def _filled(
    pieces: Iterator[Piece],
    pool: ThreadPoolExecutor,
    config: BundleConfig,
    bundle: str,
    number: int,
) -> Iterator[tuple[PartIndex, list[bytes]]]:
    """Yield the index and the shards of parts, from `number` on, until there are no more
    recordings."""
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
        yield index, shards
        number += 1
