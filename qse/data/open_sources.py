"""Open the sources of a run: folders of speech and noise, a bundle of them, or an official corpus,
for training and validation.

A source has `segments`, the number of segments per epoch, and `batch`, which returns the Batch of a
step. datasets.py has the layouts of the official corpora.
"""

from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from ..errors import QseError, UsageError
from ..references import find_named
from . import copies, datasets
from .bandwidth import FULL_BAND_LEAST
from .bundle_source import Make
from .cached_corpus import CorpusCache
from .corpus import Corpus, read_recordings
from .decoded_parts import DecodedParts, Stream
from .dns3_source import dns3, dns3_pairs, prepare_dns3
from .mix_config import MixConfig
from .multi_rate import WIDE_BAND, MultiRateSource, wide_band
from .noise_mixing import NoiseMixer
from .paired_segments import PairedSegments
from .sampling import shuffled
from .source import BatchSource

# training pairs of VoiceBank+DEMAND kept for validation; the test set is for the final evaluation
HELD_OUT = 100
LEAST_REACH = 0.9  # of half the sample rate, where that is below FULL_BAND_LEAST


def folders(
    speech: Path,
    noise: Path,
    mix: MixConfig,
    seed: int,
    device: torch.device,
    wide_share: float = 0.0,
    cache: Path | None = None,
) -> BatchSource:
    """Return a source that reads folders of speech and noise into memory and mixes them.

    cache: a folder for decoded copies of the recordings, which are mapped from there instead of
    read into memory.

    For a mix above 16 kHz, only recordings whose content reaches FULL_BAND_LEAST are used; below
    41 kHz, it must reach 0.9 of half the rate. With the probability `wide_share` a batch is at 16
    kHz, mixed from all recordings.
    """
    mixers = []
    for part, cutoff in _parts(mix, wide_share):
        voices = _folder_corpus(speech, "speech", part.sample_rate, cutoff, cache)
        noises = _folder_corpus(noise, "noise", part.sample_rate, cutoff, cache)
        mixers.append(NoiseMixer(part, voices, noises, seed, device))
    return _joined(mixers, wide_share, seed)


def _joined(mixers: list[NoiseMixer], wide_share: float, seed: int) -> BatchSource:
    """Return a source of batches at each rate of a run."""
    if len(mixers) == 1:
        return mixers[0]
    return MultiRateSource(mixers[0], mixers[1], wide_share, seed)


def decoded_parts(folder: Path, mix: MixConfig, wide_share: float) -> DecodedParts:
    """Return the store for the decoded parts of a bundle, at the rates of a run. Raises QseError
    for a link in its place, which nobody has named: it may have come with the run."""
    rates = {part.sample_rate: cutoff for part, cutoff in _parts(mix, wide_share)}
    store = DecodedParts(folder / "-".join(map(str, ["parts", *rates])), rates)
    for path in (store.folder, *map(store.samples, store.streams)):
        if path.is_symlink():
            raise QseError(f"{path} is a link: remove it, or name another folder for copies")
    return store


def mixing(mix: MixConfig, seed: int, device: torch.device, wide_share: float) -> Make:
    """Return what mixes corpora of a bundle, at each rate of a run, as `folders` mixes folders."""
    rooms: dict[int, Tensor] = {}  # the same ones, whichever parts there are

    def make(corpora: dict[Stream, Corpus]) -> BatchSource:
        mixers = []
        for part, _ in _parts(mix, wide_share):
            rate = part.sample_rate
            voices = corpora["speech", rate]
            noises = corpora["noise", rate]
            mixer = NoiseMixer(part, voices, noises, seed, device, rooms.get(rate))
            rooms[rate] = mixer.rooms
            mixers.append(mixer)
        return _joined(mixers, wide_share, seed)

    return make


def write_cache(
    speech: Path,
    noise: Path,
    mix: MixConfig,
    wide_share: float,
    cache: Path,
    progress: datasets.Stages | None = None,
    skip: bool = False,
) -> list[CorpusCache]:
    """Write the copies that `folders` maps, and return the caches.

    progress: called with (what is copied, files done, all of them). skip: leave out, from now on,
    files that cannot be read.
    """
    caches = []
    for part, cutoff in _parts(mix, wide_share):
        for folder, name in ((speech, "speech"), (noise, "noise")):
            store = _folder_cache(folder, name, part.sample_rate, cutoff, cache, skip)
            told = progress and partial(progress, store.path.name)
            store.corpus(datasets.audio_files(folder), told)
            caches.append(store)
    return caches


def _parts(mix: MixConfig, wide_share: float) -> list[tuple[MixConfig, float]]:
    """Return the mixing at each rate of a run, with the frequency that recordings must reach."""
    full_band = mix.sample_rate > WIDE_BAND
    parts = [(mix, min(FULL_BAND_LEAST, LEAST_REACH * mix.sample_rate / 2) if full_band else 0.0)]
    if full_band and wide_share:
        parts.append((wide_band(mix), 0.0))
    return parts


def _folder_corpus(
    folder: Path, name: str, sample_rate: int, least_cutoff: float, cache: Path | None
) -> Corpus:
    if cache is None:
        return Corpus.read(folder, sample_rate, least_cutoff=least_cutoff)
    store = _folder_cache(folder, name, sample_rate, least_cutoff, cache)
    return store.corpus(datasets.audio_files(folder))


def _folder_cache(
    folder: Path, name: str, sample_rate: int, least_cutoff: float, cache: Path, skip: bool = False
) -> CorpusCache:
    return CorpusCache(cache / f"{name}-{sample_rate}", folder, sample_rate, least_cutoff, skip)


def voicebank(
    data: Path, mix: MixConfig, seed: int, device: torch.device, shares: int = 1
) -> BatchSource:
    """Read the training pairs of VoiceBank+DEMAND at 16 kHz into memory; `mix` gives only the
    length of segments."""
    pairs = copies.with_copies(_split(data)[0], data)
    rate = mix.sample_rate
    one_group = [""] * len(pairs)
    noisy_files = [pair.noisy for pair in pairs if pair.noisy]
    clean_files = [pair.clean for pair in pairs if pair.clean]
    noisy = Corpus.of(read_recordings(noisy_files, rate), one_group, rate)
    clean = Corpus.of(read_recordings(clean_files, rate), one_group, rate)
    for pair, one, other in zip(pairs, noisy.lengths.tolist(), clean.lengths.tolist(), strict=True):
        if one != other:
            raise QseError(
                f"{pair.noisy} has {one} samples and {pair.clean} {other}: a pair is of one length"
            )
    return PairedSegments(noisy, clean, mix.samples, seed, device, shares)


CorpusName = Literal["voicebank", "dns3"]
CORPORA: dict[str, Callable[..., BatchSource]] = {"voicebank": voicebank, "dns3": dns3}


def find_corpus(name: str) -> Callable[..., BatchSource]:
    """Return what opens a corpus, called as `voicebank` is: an entry of CORPORA, or a function of
    one's own, "package.module:function".

    Raises QseError for an unknown name, or what cannot be called so.
    """
    try:
        found = find_named(name, CORPORA, "dataset")
    except ValueError as error:
        raise QseError(str(error)) from error
    wanted = signature(voicebank)
    try:
        signature(found).bind(*wanted.parameters)
    except (TypeError, ValueError) as error:
        raise QseError(f"dataset {name!r}: is called with {wanted} ({error})") from error
    return found


def prepare(
    dataset: str,
    data: Path,
    mix: MixConfig,
    progress: datasets.Stages | None = None,
    skip: bool = False,
) -> list[CorpusCache]:
    """Make the 16 kHz copies of a corpus that are missing, and its validation pairs, before several
    processes read them; return the caches, if it has some.

    progress: called with (what is copied, files done, all of them). skip: leave out, from now on,
    files that cannot be read; VoiceBank+DEMAND must be complete.
    """
    if dataset not in CORPORA:
        return []
    if dataset == "voicebank":
        if skip:
            raise UsageError(f"{data}: pairs of VoiceBank+DEMAND cannot be left out: repair them")
        copies.voicebank(data, "train", progress and partial(progress, "16 kHz copies"))
        return []
    return prepare_dns3(data, mix, progress, skip)


def validation(dataset: str, data: Path, mix: MixConfig) -> list[datasets.Pair]:
    """Return the pairs that are held out of training; none of a corpus of one's own."""
    if dataset not in CORPORA:
        return []
    if dataset == "dns3":
        return dns3_pairs(data, mix)
    return copies.with_copies(_split(data)[1], data)


def _split(data: Path) -> tuple[list[datasets.Pair], list[datasets.Pair]]:
    """Split the training part of VoiceBank+DEMAND, without copies: pairs to train on, and HELD_OUT
    pairs (a fifth of all if there are fewer than 500). The split is the same for every run: one may
    start from another's weights."""
    pairs = datasets.voicebank_files(data, "train")
    for pair in pairs:
        if pair.noisy is None or pair.clean is None:
            raise QseError(
                f"{pair.noisy or pair.clean} has no counterpart of its name: complete {data}"
            )
    ordered = shuffled(pairs, seed=0)
    held = min(HELD_OUT, len(pairs) // 5)
    return ordered[held:], ordered[:held]
