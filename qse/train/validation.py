"""Validation while training: enhanced pairs against clean ones, by the metrics that users read."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ..data.datasets import Pair, pair_folders
from ..errors import QseError
from ..evaluate.metrics import SAMPLE_RATE, score_pair
from ..evaluate.reading import read_pair
from ..networks import enhance
from .parallel import gather

METRICS = ("pesq_wb", "stoi", "si_sdr")
SHORTEST, LONGEST = 0.5, 30  # seconds: STOI needs 0.4 of speech, and PESQ's code dies of some 50 stretches of it


@dataclass(frozen=True)
class Utterance:
    """float32 (samples,), noisy and clean, of one length, at SAMPLE_RATE."""

    name: str
    noisy: np.ndarray
    clean: np.ndarray


def quality(scores: dict[str, float]) -> float:
    """The one number by which the best weights are kept: mean WB-PESQ, and 10 dB of SI-SDR count as much as a point."""
    return scores["pesq_wb"] + scores["si_sdr"] / 10


def find_pairs(folder: Path, sample_rate: int) -> list[Pair]:
    """The files of equal names in `folder`/noisy and `folder`/clean. Raises QseError when there are none.

    `sample_rate` is the network's: the metrics are defined at SAMPLE_RATE alone.
    """
    if sample_rate != SAMPLE_RATE:
        raise QseError(f"{folder}: validation works at {SAMPLE_RATE} Hz, not at {sample_rate}; train without --valid")
    noisy, clean = folder / "noisy", folder / "clean"
    if not (noisy.is_dir() and clean.is_dir()):
        raise QseError(f"{folder}: no pairs; put files of equal names into {noisy} and {clean}")
    return pair_folders(noisy, clean)


def fingerprint(pairs: list[Utterance]) -> str:
    """What tells pairs from others: scores are compared only among the same."""
    digest = sha256()
    for pair in pairs:
        digest.update(pair.noisy.tobytes() + pair.clean.tobytes())
    return digest.hexdigest()


def read_pairs(pairs: list[Pair]) -> list[Utterance]:
    """Raises QseError for a pair that does not fit together, or that no metric can judge."""
    return [_read(pair) for pair in pairs]


def _read(pair: Pair) -> Utterance:
    clean, noisy = read_pair(pair, needs_clean=True)
    if clean is None or not clean.any():
        raise QseError(f"{pair.clean}: is silent, and no metric has a value against silence; leave the pair out")
    if not SHORTEST <= len(clean) / SAMPLE_RATE <= LONGEST:
        raise QseError(f"{pair.clean}: validation files last {SHORTEST:g} to {LONGEST} s; cut it, or leave it out")
    try:
        score_pair(clean=clean, enhanced=noisy, metrics=["stoi", "pesq_wb"])
    except ValueError as error:
        raise QseError(f"{pair.clean}: cannot be judged ({error}); leave the pair out") from error
    return Utterance(pair.name, noisy.astype(np.float32), clean.astype(np.float32))


def validate(
    network: nn.Module,
    pairs: list[Utterance],
    device: torch.device,
    rank: int = 0,
    processes: int = 1,
    stopped: Callable[[], bool] = lambda: False,
) -> dict[str, float]:
    """Means of METRICS over all pairs; every process scores its share, all get the result.

    nan where a pair has no score, as when the network is silent: a bad moment of the network does not end a run.
    Nothing where one of the processes was `stopped` before it had scored its share.
    """
    training = network.training
    network.eval()
    rows = gather([_score(network, pair, device) for pair in pairs[rank::processes] if not stopped()])
    network.train(training)
    if len(rows) < len(pairs):
        return {}
    return {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS}


@torch.no_grad()
def _score(network: nn.Module, pair: Utterance, device: torch.device) -> dict[str, float]:
    noisy = torch.from_numpy(pair.noisy).to(device)[None]
    enhanced = enhance(network, noisy)[0].float().cpu().numpy()
    try:
        return score_pair(clean=pair.clean, enhanced=enhanced, metrics=METRICS)
    except ValueError:
        return dict.fromkeys(METRICS, float("nan"))
