"""List the recordings of a bundle in random order, and read them as they are packed: mono, at one
of two sample rates, long ones in pieces."""

import hashlib
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import soxr

from ..audio.opus import to_int16
from ..audio.reader import read_array
from ..errors import QseError
from .bandwidth import FULL_BAND_LEAST, bandwidth
from .bundle_index import FULL, KINDS, LONGEST_NAME, WIDE
from .datasets import audio_files, top_folder


@dataclass(frozen=True)
class SourceFile:
    """A recording to pack: its path, kind (speech or noise), name in the bundle, and group."""

    path: Path
    kind: str
    name: str
    group: str


@dataclass(frozen=True)
class Piece:
    """Audio to pack, float32 (samples,), with the bandwidth in Hz that its recording had."""

    kind: str
    name: str
    group: str
    sample_rate: int
    audio: np.ndarray
    bandwidth: float

    @property
    def seconds(self) -> float:
        """Return its duration."""
        return len(self.audio) / self.sample_rate


def source_files(speech: Iterable[Path], noise: Iterable[Path]) -> list[SourceFile]:
    """Return the recordings below folders of speech and of noise.

    A group is FOLDER/SUB-FOLDER, so that speakers of two corpora never have the same name. Raises
    QseError for a folder without audio.
    """
    found = []
    for kind, folders in zip(KINDS, (speech, noise), strict=True):
        names: set[str] = set()
        for folder in folders:
            source = _unlike(Path(folder).resolve().name, names)
            names.add(source)
            for path in audio_files(folder):
                below = path.relative_to(folder).as_posix()
                group = f"{source}/{top_folder(below)}"
                found.append(SourceFile(path, kind, f"{source}/{below}"[-LONGEST_NAME:], group))
    return found


def _unlike(name: str, taken: set[str]) -> str:
    """Return the name, or with a number if another folder has it."""
    number = 1
    found = name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


def in_random_order(files: list[SourceFile], seed: int) -> list[SourceFile]:
    """Return the files shuffled; consecutive ones hold speech and noise in the proportion of the
    whole."""
    rng = random.Random(seed)
    placed = []
    for kind in KINDS:
        mine = sorted((file for file in files if file.kind == kind), key=lambda file: file.name)
        rng.shuffle(mine)
        for number, file in enumerate(mine):
            placed.append(((number + 0.5) / len(mine), kind, file))
    placed.sort(key=lambda entry: entry[:2])
    return [file for _, _, file in placed]


def identity(files: list[SourceFile], settings: list[float]) -> str:
    """Return what distinguishes a bundle of these recordings, packed like this, from others."""
    names = sorted((file.kind, file.name, file.path.stat().st_size) for file in files)
    return hashlib.sha256(json.dumps([settings, names]).encode()).hexdigest()[:16]


def pieces(file: SourceFile, longest: float) -> list[Piece]:
    """Read a recording: at 48 kHz if its content reaches FULL_BAND_LEAST, else at 16 kHz; in equal
    pieces of at most `longest` seconds.

    Raises QseError if it cannot be read, or its name cannot be stored.
    """
    if any("\ud800" <= sign <= "\udfff" for sign in file.name + file.group):
        raise QseError(f"{file.path}: its name is not UTF-8: rename it")
    audio, rate = read_array(file.path)
    mono = audio.mean(axis=1)
    stored, sample_rate, reach = _at_its_rate(mono, rate)
    count = max(1, ceil(len(stored) / (longest * sample_rate)))
    found = []
    for number, part in enumerate(np.array_split(stored, count)):
        if len(part):
            name = file.name if count == 1 else f"{file.name}#{number}"
            found.append(Piece(file.kind, name, file.group, sample_rate, part, reach))
    return found


def _at_its_rate(mono: np.ndarray, rate: int) -> tuple[np.ndarray, int, float]:
    """Return the audio as it is packed, its sample rate, and its bandwidth."""
    if rate > 2 * FULL_BAND_LEAST:
        full = mono if rate == FULL else soxr.resample(mono, rate, FULL)
        reach = bandwidth(to_int16(full), FULL)
        if reach >= FULL_BAND_LEAST:
            return full, FULL, reach
    else:
        reach = bandwidth(to_int16(mono), rate)
    return mono if rate == WIDE else soxr.resample(mono, rate, WIDE), WIDE, reach
