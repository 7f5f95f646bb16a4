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
    """The pairs of `folder`/noisy and `folder`/clean, by equal names. Raises QseError when there are none.

    `sample_rate` is the network's: the metrics are defined at SAMPLE_RATE alone.
    """
    if sample_rate != SAMPLE_RATE:
        raise QseError(f"{folder}: validation works at {SAMPLE_RATE} Hz, not at {sample_rate}; train without --valid")
    pairs = []
    for path in sorted((folder / "noisy").glob("[!.]*")):
        noisy, clean = (_read(file, sample_rate) for file in (path, folder / "clean" / path.name))
        if noisy.shape != clean.shape:
            raise QseError(f"{path}: noisy has {len(noisy)} samples and clean {len(clean)}; cut them to one length")
        pairs.append(Pair(path.stem, noisy, clean))
    if not pairs:
        raise QseError(f"{folder}: no pairs; put files of equal names into {folder / 'noisy'} and {folder / 'clean'}")
    return pairs


def _read(path: Path, sample_rate: int) -> np.ndarray:
    import soundfile

    try:
        audio, rate = soundfile.read(path, dtype="float32")
    except (soundfile.SoundFileError, OSError) as error:
        raise QseError(f"{path}: cannot be read as audio; every noisy file needs a clean one of its name") from error
    if rate != sample_rate or audio.ndim != 1:
        raise QseError(f"{path}: a validation file must be mono and at {sample_rate} Hz")
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
