"""Write mixed pairs to disk, for validation, tests or listening."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import soundfile
import torch

from ..audio.atomic_write import atomic_path
from ..audio.claim import held
from ..audio.file_mode import Source, Sources
from ..audio.replaced_folder import new_folder, real_folder
from ..audio.writer import write_samples
from ..errors import QseError
from .corpus import Corpus
from .mix_config import MixConfig
from .noise_mixing import NoiseMixer

SIDES = ("noisy", "clean")
# added to the seed, so that no run of the same seed has the rooms of the pairs
ROOMS_SEED = 1 << 20


def write_pairs(
    mix: MixConfig,
    speech: Path,
    noise: Path,
    folder: Path,
    count: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Mix `count` segments as a run would, and write them as `folder`/noisy/0001.flac and
    `folder`/clean/0001.flac.

    speech and noise: folders, as for `Corpus.read`. Every pair has speech and noise:
    `noise_only_chance` and `clean_only_chance` of `mix` do not apply. A pair whose clean side would
    be clipped is scaled down. progress is called with (pairs done, all of them).

    Raises QseError where `folder` is there already or cannot be written, and for audio that cannot
    be used.
    """
    with _claimed(folder):
        if folder.exists():
            raise QseError(f"{folder} is there already: name a new folder")
        mix = replace(mix, noise_only_chance=0.0, clean_only_chance=0.0)
        with Sources([speech, noise]) as source:
            spoken = Corpus.read(speech, mix.sample_rate)
            noises = Corpus.read(noise, mix.sample_rate)
        mixer = NoiseMixer(mix, spoken, noises, seed, rooms_seed=seed + ROOMS_SEED)
        mix_pairs(mixer, folder, count, progress, source=source)


def _claimed(folder: Path) -> AbstractContextManager:
    """Return the claim to a new folder. Raises QseError while another process makes it, and where
    it cannot be made."""
    taken = QseError(f"{folder}: another process writes pairs there; name another folder")
    try:
        return held(real_folder(folder), taken)
    except OSError as error:
        raise QseError(f"{folder} cannot be written: {error}") from error


def mix_pairs(
    mixer: NoiseMixer,
    folder: Path,
    count: int,
    progress: Callable[[int, int], None] | None = None,
    *,
    source: Source | None,
) -> None:
    """Write `count` segments of `mixer` as pairs into `folder`, which appears when it is complete.

    source: a file whose permissions the files do not exceed. Raises QseError where it cannot be
    written, or another process has made it meanwhile.
    """
    digits = max(4, len(str(count)))
    sample_rate = mixer.config.sample_rate
    try:
        with new_folder(folder) as made:
            for side in SIDES:
                (made / side).mkdir()
            for number in range(count):
                batch = mixer.batch(number, 1)
                pair = torch.cat([batch.noisy, batch.clean])
                pair /= pair.abs().max().clamp_min(1.0)
                for side, audio in zip(SIDES, pair.numpy(), strict=True):
                    path = made / side / f"{number + 1:0{digits}}.flac"
                    with atomic_path(path, source=source) as part:
                        write_samples(part, audio, sample_rate, format="FLAC", subtype="PCM_16")
                if progress:
                    progress(number + 1, count)
    except (OSError, soundfile.SoundFileError) as error:
        raise QseError(f"{folder} cannot be written: {error}") from error
