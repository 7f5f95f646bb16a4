"""Validation while training: enhanced pairs against clean ones, by the metrics that users read."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ..errors import QseError
from ..evaluate.metrics import score_pair
from ..networks import enhance
from .parallel import gather

METRICS = ("pesq_wb", "stoi", "si_sdr")


@dataclass(frozen=True)
class Pair:
    """One utterance: float32 (samples,), noisy and clean, of one length and rate."""

    name: str
    noisy: np.ndarray
    clean: np.ndarray


def read_pairs(folder: Path, sample_rate: int) -> list[Pair]:
    """The pairs of `folder`/noisy and `folder`/clean, by equal names. Raises QseError when there are none."""
    import soundfile

    pairs = []
    for path in sorted((folder / "noisy").glob("*")):
        noisy, rate = soundfile.read(path, dtype="float32")
        clean, clean_rate = soundfile.read(folder / "clean" / path.name, dtype="float32")
        if {rate, clean_rate} != {sample_rate} or noisy.ndim != 1 or noisy.shape != clean.shape:
            raise QseError(f"{path}: noisy and clean must be mono, equally long and at {sample_rate} Hz")
        pairs.append(Pair(path.stem, noisy, clean))
    if not pairs:
        raise QseError(f"{folder}: no pairs; put files of equal names into {folder / 'noisy'} and {folder / 'clean'}")
    return pairs


def validate(network: nn.Module, pairs: list[Pair], device: torch.device, rank: int = 0, processes: int = 1) -> dict:
    """Means of METRICS over all pairs; every process scores its share, all get the result."""
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
    return score_pair(clean=pair.clean, enhanced=enhanced, metrics=METRICS)
