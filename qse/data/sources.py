"""Sources room: from folders on disk to what a run trains on, and to what it is validated with.

A run knows a source by two things: `segments`, how many make an epoch, and `batch`, (noisy, clean) of a step.
The layouts of the official corpora are those of qse/evaluate/datasets.py.
"""

from functools import partial
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from ..errors import QseError
from . import datasets
from .cached_corpus import stored
from .corpus import Corpus, read_recordings
from .mix_config import MixConfig
from .noise_mixing import NoiseMixer
from .paired_segments import PairedSegments
from .room_simulation import measured_bank
from .sampling import BatchRng

HELD_OUT = 100  # training pairs of VoiceBank+DEMAND that validate a run instead: its test set is for the end
RESPONSE = 1.0  # seconds that are kept of a measured impulse response


class Source(Protocol):
    """Batches of segments: (noisy, clean), float32 (size, samples), a function of (step, size, rank) alone."""

    segments: int

    def batch(self, step: int, size: int, rank: int = 0) -> tuple[Tensor, Tensor]: ...


def folders(
    speech: Path, noise: Path, mix: MixConfig, seed: int, device: torch.device, rooms: Tensor | None = None
) -> Source:
    """Speech and noise, read into memory and mixed on the fly; `rooms` as in `NoiseMixer`."""
    corpora = (Corpus.read(folder, mix.sample_rate) for folder in (speech, noise))
    return NoiseMixer(mix, *corpora, seed, device, rooms)


def voicebank(data: Path, mix: MixConfig, seed: int, device: torch.device, processes: int = 1) -> Source:
    """The training pairs of VoiceBank+DEMAND, 16 kHz copies of them in memory; of `mix` only the segment counts."""
    pairs = datasets.with_copies(_parted(data)[0], data)
    sides = ([pair.noisy for pair in pairs if pair.noisy], [pair.clean for pair in pairs if pair.clean])
    noisy, clean = (Corpus.of(read_recordings(side, mix.sample_rate), [""] * len(pairs)) for side in sides)
    for pair, one, other in zip(pairs, noisy.lengths.tolist(), clean.lengths.tolist(), strict=True):
        if one != other:
            raise QseError(f"{pair.noisy} has {one} samples and {pair.clean} {other}: a pair is of one length")
    return PairedSegments(noisy, clean, mix.samples, seed, device, processes)


def dns3(data: Path, mix: MixConfig, seed: int, device: torch.device, processes: int = 1) -> Source:
    """Clean speech, noise and `mix.rooms` of the measured impulse responses of DNS-Challenge 3, mixed on the CPU."""
    speech, noise = _stored(data, mix.sample_rate)
    responses = datasets.dns3(data).impulse_responses
    chosen = [responses[index] for index in _shuffled(len(responses), seed)[: mix.rooms]]
    recordings = read_recordings(chosen, mix.sample_rate, channel=0)
    bank = measured_bank([response for response in recordings if response.any()], round(RESPONSE * mix.sample_rate))
    return NoiseMixer(mix, speech, noise, seed, "cpu", bank)


CORPORA = {"voicebank": voicebank, "dns3": dns3}


def prepare(dataset: str, data: Path, progress: datasets.Stages | None = None) -> None:
    """Makes the 16 kHz copies of a corpus that are missing, before several processes look for them.

    progress is called with (what is copied, files done, all of them).
    """
    if dataset == "voicebank":
        datasets.voicebank(data, "train", progress and partial(progress, "16 kHz copies"))
    else:
        _stored(data, datasets.SAMPLE_RATE, progress)


def validates(dataset: str) -> bool:
    """Whether the corpus brings pairs; DNS-Challenge 3 has speech and noise to mix."""
    return dataset != "dns3"


def validation(dataset: str, data: Path) -> list[datasets.Pair]:
    """The pairs of the corpus that are held out of training, if it has any."""
    return datasets.with_copies(_parted(data)[1], data) if validates(dataset) else []


def _parted(data: Path) -> tuple[list[datasets.Pair], list[datasets.Pair]]:
    """The training part of VoiceBank+DEMAND, without copies: what is trained on, and HELD_OUT pairs (a fifth of fewer
    than 500), the same for every run: one may begin with the weights of another."""
    pairs = datasets.voicebank_files(data, "train")
    for pair in pairs:
        if pair.noisy is None or pair.clean is None:
            raise QseError(f"{pair.noisy or pair.clean} has no counterpart of its name: complete {data}")
    order, held = _shuffled(len(pairs), seed=0), min(HELD_OUT, len(pairs) // 5)
    return [pairs[index] for index in order[held:]], [pairs[index] for index in order[:held]]


def _shuffled(count: int, seed: int) -> list[int]:
    """The numbers below `count` in an order that only the seed decides."""
    return BatchRng(seed, 0, 0, torch.device("cpu")).uniform(0, 1, count).argsort().tolist()


def _stored(data: Path, sample_rate: int, progress: datasets.Stages | None = None) -> tuple[Corpus, Corpus]:
    """Clean speech and noise of DNS-Challenge 3, hundreds of hours: samples on disk, beside the corpus."""
    found = datasets.dns3(data)
    speech, noise = (
        stored(
            paths,
            found.root / name,
            found.root / datasets.CACHE / name,
            sample_rate,
            progress and partial(progress, f"16 kHz copy, {name}"),
        )
        for name, paths in (("clean", found.clean), ("noise", found.noise))
    )
    return speech, noise
