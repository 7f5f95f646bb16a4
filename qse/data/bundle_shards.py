"""Collect recordings in the shards of one part, and code them, up to the size of a part."""

import hashlib
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..audio import opus
from . import bundle_part
from .bundle_index import FULL, WIDE, PartIndex, Recording, Shard
from .bundle_recordings import Piece

SHARD_SECONDS = 600.0
PAUSE = 50  # of a second is one pause: what a codec smears over the end of a recording
RESERVE = 1.08  # a variable bit rate may be above the nominal one by this factor
LABELS = 90  # bytes of a recording in the index, without its names


@dataclass(frozen=True)
class BundleConfig:
    """Configure how a bundle is packed.

    size: of a part, in bytes, at most. wide_kbit, full_kbit: bit rates at 16 and 48 kHz. seed: of
    the order of the recordings. threads: that read and code.
    """

    size: int = 60_000_000
    wide_kbit: float = 20.0
    full_kbit: float = 48.0
    seed: int = 0
    threads: int = 1

    def kbit(self, sample_rate: int) -> float:
        """Return the bit rate at a sample rate."""
        return {WIDE: self.wide_kbit, FULL: self.full_kbit}[sample_rate]

    @property
    def shard_seconds(self) -> float:
        """Return the longest duration of a shard: small parts have short ones."""
        return min(SHARD_SECONDS, self.size / 8 / (125 * self.full_kbit))


class Coded(NamedTuple):
    """A shard as a file, its entry in the index, and the recordings in it."""

    data: bytes
    shard: Shard
    pieces: list[Piece]


class _Shard:
    """A shard that is collected, or coded in another thread."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.coded: Future[Coded] | None = None
        self.size = 0.0  # bytes, estimated until it is known

    @property
    def seconds(self) -> float:
        return sum(piece.seconds for piece in self.pieces)


@dataclass
class PartBuilder:
    """Collect the recordings of one part; `pool` codes the shards that are complete."""

    config: BundleConfig
    pool: Executor
    shards: list[_Shard] = field(default_factory=list)
    _open: dict[tuple[str, int], _Shard] = field(default_factory=dict)

    def add(self, piece: Piece) -> bool:
        """Add a recording; return False, and leave it out, if the part would be too large."""
        key = (piece.kind, piece.sample_rate)
        shard = self._open.get(key)
        if shard and shard.seconds + piece.seconds > self.config.shard_seconds:
            self._code(self._open.pop(key))
            shard = None
        needed = _estimate(piece, self.config) + (0 if shard else 2000)
        if self.shards and self._size() + needed > self.config.size:
            self._settle()
            if self._size() + needed > self.config.size:
                return False
        if not shard:
            shard = _Shard()
            self._open[key] = shard
            self.shards.append(shard)
        shard.pieces.append(piece)
        shard.size += needed
        return True

    def finish(self, bundle: str, number: int) -> tuple[PartIndex, list[bytes], list[Piece]]:
        """Return the index and the shards of the part, and the recordings that had no room in it,
        because its shards became larger than estimated."""
        for shard in self._open.values():
            self._code(shard)
        coded = [shard.coded.result() for shard in self.shards if shard.coded]
        left: list[list[Piece]] = []
        while True:
            index = PartIndex(bundle, number, tuple(entry.shard for entry in coded))
            files = [entry.data for entry in coded]
            if len(coded) == 1 or bundle_part.size_with(index, files) <= self.config.size:
                return index, files, list(chain.from_iterable(left))
            left.append(coded.pop().pieces)

    def _size(self) -> float:
        return 1000 + sum(shard.size for shard in self.shards)

    def _settle(self) -> None:
        """Replace the estimated sizes of the shards that are coded by the true ones."""
        for shard in self.shards:
            if shard.coded:
                coded = shard.coded.result()
                labels = sum(map(_labels, coded.pieces))
                shard.size = len(coded.data) + labels + 500

    def _code(self, shard: _Shard) -> None:
        kbit = self.config.kbit(shard.pieces[0].sample_rate)
        shard.coded = self.pool.submit(_coded, shard.pieces, kbit)


def _coded(pieces: list[Piece], kbit: float) -> Coded:
    """Code recordings as one shard."""
    rate = pieces[0].sample_rate
    pause = np.zeros(rate // PAUSE, np.float32)
    parts = []
    recordings = []
    start = 0
    for piece in pieces:
        length = len(piece.audio)
        recordings.append(Recording(piece.name, piece.group, start, length, piece.bandwidth))
        parts += [piece.audio.astype(np.float32), pause]
        start += length + len(pause)
    data = opus.encode(np.concatenate(parts), rate, kbit)
    checksum = hashlib.sha256(data).hexdigest()
    return Coded(data, Shard(pieces[0].kind, rate, start, checksum, tuple(recordings)), pieces)


def _estimate(piece: Piece, config: BundleConfig) -> float:
    """Return the bytes that a recording takes in a part, at most."""
    coded = 125 * config.kbit(piece.sample_rate) * (piece.seconds + 1 / PAUSE)
    return RESERVE * coded + _labels(piece)


def _labels(piece: Piece) -> int:
    return LABELS + len(piece.name.encode()) + len(piece.group.encode())
