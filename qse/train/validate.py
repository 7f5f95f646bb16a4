"""Validation while training: enhanced pairs against clean ones, by the metrics that users read."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ..errors import QseError
from ..evaluate.metrics import SAMPLE_RATE, score_pair
from ..networks import enhance
from .parallel import gather

METRICS = ("pesq_wb", "stoi", "si_sdr")
SHORTEST, LONGEST = 0.5, 30  # seconds: STOI needs 0.4 of speech, and PESQ's code dies of some 50 stretches of it


@dataclass(frozen=True)
class Pair:
    """One utterance: float32 (samples,), noisy and clean, of one length and rate."""

    name: str
    noisy: np.ndarray
    clean: np.ndarray


def quality(scores: dict[str, float]) -> float:
    """The one number by which the best weights are kept: mean WB-PESQ, and 10 dB of SI-SDR count as much as a point."""
    return scores["pesq_wb"] + scores["si_sdr"] / 10


def read_pairs(folder: Path, sample_rate: int) -> list[Pair]:
    """The pairs of `folder`, as `find_pairs` finds them. Raises QseError for one that does not fit together."""
    noisy = find_pairs(folder, sample_rate)
    return [read_pair(path.stem, path, folder / "clean" / path.name) for path in noisy]


def find_pairs(folder: Path, sample_rate: int) -> list[Path]:
    """The files of `folder`/noisy; `folder`/clean has one of each name. Raises QseError when there are none.

    `sample_rate` is the network's: the metrics are defined at SAMPLE_RATE alone.
    """
    if sample_rate != SAMPLE_RATE:
        raise QseError(f"{folder}: validation works at {SAMPLE_RATE} Hz, not at {sample_rate}; train without --valid")
    noisy = sorted((folder / "noisy").glob("[!.]*"))
    if not noisy:
        raise QseError(f"{folder}: no pairs; put files of equal names into {folder / 'noisy'} and {folder / 'clean'}")
    return noisy


def read_pair(name: str, noisy: Path | None, clean: Path | None) -> Pair:
    """The pair of two files at SAMPLE_RATE. Raises QseError when they do not fit together."""
    if noisy is None or clean is None:
        raise QseError(f"{noisy or clean}: has no counterpart of its name; every noisy file needs a clean one")
    pair = Pair(name, _read(noisy), _read(clean))
    if pair.noisy.shape != pair.clean.shape:
        lengths = f"noisy has {len(pair.noisy)} samples and clean {len(pair.clean)}"
        raise QseError(f"{noisy}: {lengths}; cut them to one length")
    if not pair.clean.any():
        raise QseError(f"{clean}: is silent, and no metric has a value against silence; leave the pair out")
    if not SHORTEST <= len(pair.clean) / SAMPLE_RATE <= LONGEST:
        raise QseError(f"{clean}: validation files last {SHORTEST:g} to {LONGEST} seconds; cut it, or leave it out")
    return pair


def _read(path: Path) -> np.ndarray:
    import soundfile

    try:
        audio, rate = soundfile.read(path, dtype="float32")
    except (soundfile.SoundFileError, OSError) as error:
        raise QseError(f"{path}: cannot be read as audio; every noisy file needs a clean one of its name") from error
    if rate != SAMPLE_RATE or audio.ndim != 1:
        raise QseError(f"{path}: a validation file must be mono and at {SAMPLE_RATE} Hz")
    return audio


def validate(network: nn.Module, pairs: list[Pair], device: torch.device, rank: int = 0, processes: int = 1) -> dict:
    """Means of METRICS over all pairs; every process scores its share, all get the result.

    nan where a pair has no score, as when the network is silent: a bad moment of the network does not end a run.
    """
    training = network.training
    network.eval()
    rows = [_score(network, pair, device) for pair in pairs[rank::processes]]
    network.train(training)
    rows = gather(rows)
    return {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS}


@torch.no_grad()
def _score(network: nn.Module, pair: Pair, device: torch.device) -> dict[str, float]:
    noisy = torch.from_numpy(pair.noisy).to(device)[None]
    enhanced = enhance(network, noisy)[0].float().cpu().numpy()
    try:
        return score_pair(clean=pair.clean, enhanced=enhanced, metrics=METRICS)
    except ValueError:
        return dict.fromkeys(METRICS, float("nan"))
