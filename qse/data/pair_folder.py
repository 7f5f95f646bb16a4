"""Mixtures on disk: pairs to validate and to test with, or to hear what a network hears."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import soundfile
import torch

from ..errors import QseError
from .mix_config import MixConfig
from .room_simulation import rooms_of
from .sources import folders

SIDES = ("noisy", "clean")
ELSEWHERE = 1 << 20  # from the seed of a run's rooms to that of its pairs': they shall be as new to it as all else


def write_pairs(
    mix: MixConfig,
    speech: Path,
    noise: Path,
    folder: Path,
    count: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Mixes `count` segments as a run would, and writes them as `folder`/noisy/0001.flac and `folder`/clean/0001.flac.

    speech and noise: folders, as for `Corpus.read`. Every pair holds both, whatever `mix` says of items without; one
    whose clean side would be clipped is softer. progress is called with (pairs done, all of them).

    Raises QseError where `folder` is there already or cannot be written, and for audio that cannot be used.
    """
    if folder.exists():
        raise QseError(f"{folder} is there already: name a new folder")
    mix = replace(mix, noise_only_chance=0.0, clean_only_chance=0.0)
    source = folders(speech, noise, mix, seed, torch.device("cpu"), rooms_of(mix, seed + ELSEWHERE))
    digits = max(4, len(str(count)))
    try:
        for side in SIDES:
            (folder / side).mkdir(parents=True)
        for number in range(count):
            pair = torch.cat(source.batch(number, 1))
            pair /= pair.abs().max().clamp_min(1.0)
            for side, audio in zip(SIDES, pair.numpy(), strict=True):
                soundfile.write(folder / side / f"{number + 1:0{digits}}.flac", audio, mix.sample_rate, "PCM_16")
            if progress:
                progress(number + 1, count)
    except (OSError, soundfile.SoundFileError) as error:
        raise QseError(f"{folder} cannot be written: {error}") from error
