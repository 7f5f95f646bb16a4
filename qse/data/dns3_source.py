"""Open DNS-Challenge 3 for a run: hundreds of hours of speech and noise, from cached copies.

Some talkers and noises are held out of training, the same ones for every run on the same files:
validation pairs are mixed from them.
"""

import hashlib
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..audio.file_mode import Sources
from ..errors import QseError
from . import copies, datasets
from .cached_corpus import CorpusCache, identity_of
from .corpus import read_recordings
from .mix_config import MixConfig
from .noise_mixing import NoiseMixer
from .pair_folder import SIDES, mix_pairs
from .room_simulation import measured_bank
from .sampling import shuffled
from .source import BatchSource

RESPONSE = 1.0  # seconds that are kept of a measured impulse response
HELD_TALKERS = 50  # at most; a fifth of all talkers where there are fewer than 250
HELD_NOISES = 200  # likewise
PAIRS = 100
PAIR_SECONDS = 4.0
PAIR_ROOMS = 100  # at most
# in the path of a file: of LibriVox, and of the M-AILABS Speech Dataset
TALKER = re.compile(r"reader_\d+|(?:fe)?male/[^/]+")

_lists: dict[Path, datasets.Dns3] = {}  # by the folder of the corpus


class Part(NamedTuple):
    """The files of a part of the corpus that a run trains on, and those that are held out."""

    trained: list[Path]
    held: list[Path]


def dns3(
    data: Path, mix: MixConfig, seed: int, device: torch.device, shares: int = 1
) -> BatchSource:
    """Mix clean speech, noise and `mix.rooms` of the measured responses of DNS-Challenge 3, on the
    CPU."""
    found = _listed(data)
    clean, noise = _caches(found.root)
    speech = clean.corpus(_speech(found).trained, group_of=talker)
    noises = noise.corpus(_noises(found).trained)
    return NoiseMixer(mix, speech, noises, seed, "cpu", _rooms(found, mix, seed))


def prepare_dns3(
    data: Path, mix: MixConfig, progress: datasets.Stages | None = None, skip: bool = False
) -> list[CorpusCache]:
    """Copy speech and noise into caches, where they are missing, and mix the validation pairs.

    The folders are listed anew; what opens the corpus afterwards in this process uses that list.
    """
    _lists.pop(data.resolve(), None)
    found = _listed(data)
    caches = _caches(found.root, skip)
    for cache, paths in zip(caches, (found.clean, found.noise), strict=True):
        cache.corpus(paths, progress and partial(progress, f"16 kHz copy, {cache.path.name}"))
    dns3_pairs(data, mix)
    return list(caches)


def dns3_pairs(data: Path, mix: MixConfig) -> list[datasets.Pair]:
    """Return PAIRS validation pairs of talkers and noises that are held out of training, mixed as
    in `mix`; none where the corpus is too small to hold some out.

    They are written to the folder of copies, once for the files that the corpus has.
    """
    found = _listed(data)
    speech = _speech(found)
    noises = _noises(found)
    if not speech.held or not noises.held:
        return []
    mix = replace(
        mix,
        segment=PAIR_SECONDS,
        rooms=min(mix.rooms, PAIR_ROOMS),
        pause_chance=0.0,
        noise_only_chance=0.0,
        clean_only_chance=0.0,
    )
    used = (*speech.held, *noises.held, *_chosen(found, mix, seed=1))
    held = [identity_of(path, found.root) for path in used]
    digest = hashlib.sha256(repr((mix, held)).encode()).hexdigest()[:8]
    folder = copies.copies_of(found.root) / f"validation-{digest}"
    if not folder.is_dir():
        clean, noise = _caches(found.root)
        with Sources([*used, clean.samples, noise.samples]) as source:
            voices = clean.corpus(speech.held, group_of=talker)
            others = noise.corpus(noises.held)
            mixer = NoiseMixer(mix, voices, others, rooms=_rooms(found, mix, seed=1))
            try:
                mix_pairs(mixer, folder, PAIRS, source=source)
            except QseError:
                if not folder.is_dir():  # another process has made it
                    raise
    return datasets.pair_folders(*map(folder.joinpath, SIDES))


def _listed(data: Path) -> datasets.Dns3:
    """Return the files of a corpus, as they were when this process first listed them for a run: its
    folders hold hundreds of thousands."""
    place = data.resolve()
    if place not in _lists:
        _lists[place] = datasets.dns3(data)
    return _lists[place]


def talker(name: str) -> str:
    """Return the talker of a file by its path: reader_N, female/NAME or male/NAME, else the folder
    that it lies in."""
    named = TALKER.search(name)
    return named.group() if named else name.rpartition("/")[0]


def _speech(found: datasets.Dns3) -> Part:
    """Hold talkers out, of the half of them who have the fewest files."""
    talkers = [talker(path.relative_to(found.root).as_posix()) for path in found.clean]
    files = Counter(talkers)
    few = sorted(files, key=lambda name: (files[name], name))[: len(files) // 2]
    count = min(HELD_TALKERS, len(files) // 5)
    held = set(shuffled(few, seed=0)[:count])
    return _parted(found.clean, [name in held for name in talkers])


def _noises(found: datasets.Dns3) -> Part:
    count = min(HELD_NOISES, len(found.noise) // 5)
    held = set(shuffled(found.noise, seed=0)[:count])
    return _parted(found.noise, [path in held for path in found.noise])


def _parted(paths: list[Path], is_held: list[bool]) -> Part:
    part = Part([], [])
    for path, held in zip(paths, is_held, strict=True):
        (part.held if held else part.trained).append(path)
    return part


def _caches(root: Path, skip: bool = False) -> tuple[CorpusCache, CorpusCache]:
    """Return the caches of speech and noise."""
    place = copies.copies_of(root)
    clean = CorpusCache(place / "clean", root / "clean", datasets.SAMPLE_RATE, skip=skip)
    return clean, CorpusCache(place / "noise", root / "noise", datasets.SAMPLE_RATE, skip=skip)


def _chosen(found: datasets.Dns3, mix: MixConfig, seed: int) -> list[Path]:
    """Return `mix.rooms` of the files of measured responses."""
    return shuffled(found.impulse_responses, seed)[: mix.rooms]


def _rooms(found: datasets.Dns3, mix: MixConfig, seed: int) -> Tensor:
    """Return the responses of rooms that are drawn with this seed."""
    recordings = read_recordings(_chosen(found, mix, seed), mix.sample_rate, channel=0)
    audible = list(filter(np.any, recordings))
    return measured_bank(audible, round(RESPONSE * mix.sample_rate))
