"""Open the sources of a run: folders of speech and noise, or an official corpus, for training and
validation.

A source has `segments`, the number of segments per epoch, and `batch`, which returns the Batch of a
step. datasets.py has the layouts of the official corpora.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch

from ..errors import QseError
from . import copies, datasets
from .bandwidth import FULL_BAND_LEAST
from .cached_corpus import cached_corpus
from .corpus import Corpus, read_recordings
from .mix_config import MixConfig
from .multi_rate import WIDE_BAND, MultiRateSource, wide_band
from .noise_mixing import NoiseMixer
from .paired_segments import PairedSegments
from .room_simulation import measured_bank
from .sampling import BatchRng
from .source import BatchSource

# training pairs of VoiceBank+DEMAND kept for validation; the test set is for the final evaluation
HELD_OUT = 100
LEAST_REACH = 0.9  # of half the sample rate, where that is below FULL_BAND_LEAST
RESPONSE = 1.0  # seconds that are kept of a measured impulse response


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
    for part, voices, noises in _folder_corpora(speech, noise, mix, wide_share, cache):
        mixers.append(NoiseMixer(part, voices, noises, seed, device))
    if len(mixers) == 1:
        return mixers[0]
    return MultiRateSource(mixers[0], mixers[1], wide_share, seed)


def write_cache(speech: Path, noise: Path, mix: MixConfig, wide_share: float, cache: Path) -> None:
    """Write the copies that `folders` maps, before several processes read them."""
    for _ in _folder_corpora(speech, noise, mix, wide_share, cache):
        pass


def _folder_corpora(
    speech: Path, noise: Path, mix: MixConfig, wide_share: float, cache: Path | None
) -> Iterator[tuple[MixConfig, Corpus, Corpus]]:
    """Yield the mixing of a run with its speech and noise; if it trains at two rates, that at 16
    kHz too."""
    full_band = mix.sample_rate > WIDE_BAND
    parts = [(mix, min(FULL_BAND_LEAST, LEAST_REACH * mix.sample_rate / 2) if full_band else 0.0)]
    if full_band and wide_share:
        parts.append((wide_band(mix), 0.0))
    for part, cutoff in parts:
        voices = _folder_corpus(speech, "speech", part.sample_rate, cutoff, cache)
        yield part, voices, _folder_corpus(noise, "noise", part.sample_rate, cutoff, cache)


def _folder_corpus(
    folder: Path, name: str, sample_rate: int, least_cutoff: float, cache: Path | None
) -> Corpus:
    if cache is None:
        return Corpus.read(folder, sample_rate, least_cutoff=least_cutoff)
    store = cache / f"{name}-{sample_rate}"
    return cached_corpus(
        datasets.audio_files(folder), folder, store, sample_rate, least_cutoff=least_cutoff
    )


def voicebank(
    data: Path, mix: MixConfig, seed: int, device: torch.device, processes: int = 1
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
    return PairedSegments(noisy, clean, mix.samples, seed, device, processes)


def dns3(
    data: Path, mix: MixConfig, seed: int, device: torch.device, processes: int = 1
) -> BatchSource:
    """Mix clean speech, noise and `mix.rooms` of the measured responses of DNS-Challenge 3, on the
    CPU."""
    speech, noise = _dns3_corpora(data, mix.sample_rate)
    responses = datasets.dns3(data).impulse_responses
    chosen = [responses[index] for index in _shuffled(len(responses), seed)[: mix.rooms]]
    recordings = read_recordings(chosen, mix.sample_rate, channel=0)
    bank = measured_bank(
        [response for response in recordings if response.any()], round(RESPONSE * mix.sample_rate)
    )
    return NoiseMixer(mix, speech, noise, seed, "cpu", bank)


CORPORA = {"voicebank": voicebank, "dns3": dns3}


def prepare(dataset: str, data: Path, progress: datasets.Stages | None = None) -> None:
    """Make the 16 kHz copies of a corpus that are missing, before several processes read them.

    progress is called with (what is copied, files done, all of them).
    """
    if dataset == "voicebank":
        copies.voicebank(data, "train", progress and partial(progress, "16 kHz copies"))
    else:
        _dns3_corpora(data, datasets.SAMPLE_RATE, progress)


def validates(dataset: str) -> bool:
    """Return whether the corpus has pairs; DNS-Challenge 3 has speech and noise to mix."""
    return dataset != "dns3"


def validation(dataset: str, data: Path) -> list[datasets.Pair]:
    """Return the pairs of the corpus that are held out of training, if it has any."""
    return copies.with_copies(_split(data)[1], data) if validates(dataset) else []


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
    order = _shuffled(len(pairs), seed=0)
    held = min(HELD_OUT, len(pairs) // 5)
    return [pairs[index] for index in order[held:]], [pairs[index] for index in order[:held]]


def _shuffled(count: int, seed: int) -> list[int]:
    """Return the numbers below `count` in an order that depends on the seed only."""
    return BatchRng(seed, 0, 0, torch.device("cpu")).uniform(0, 1, count).argsort().tolist()


def _dns3_corpora(
    data: Path, sample_rate: int, progress: datasets.Stages | None = None
) -> tuple[Corpus, Corpus]:
    """Return clean speech and noise of DNS-Challenge 3, hundreds of hours, from cached copies."""
    found = datasets.dns3(data)

    def cached(name: str, paths: list[Path]) -> Corpus:
        cache = copies.copies_of(found.root) / name
        told = progress and partial(progress, f"16 kHz copy, {name}")
        return cached_corpus(paths, found.root / name, cache, sample_rate, told)

    return cached("clean", found.clean), cached("noise", found.noise)
