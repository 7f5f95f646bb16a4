"""Validate a run at intervals: score enhanced pairs, and find the best weights."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

from ..data.datasets import Pair, pair_folders
from ..errors import QseError
from ..evaluate import metrics
from ..evaluate.reading import common_rate, read_pair
from ..evaluate.scoring import score_pair
from ..evaluate.signals import SAMPLE_RATE
from ..networks import Network
from .exchange import count, gather
from .trainer import Trainer

METRICS = ("pesq_wb", "stoi", "si_sdr")
UPPER_BAND_RATE = metrics.METRICS["band_snr"].least_rate  # Hz, from which on this metric is added
UNKNOWN = "unknown_"  # prefix of the scores of sources that are in no training data
# seconds: STOI needs 0.4 of speech, and the PESQ package crashes on long files
SHORTEST = 0.5
LONGEST = 30


@dataclass(frozen=True)
class Utterance:
    """float32 (samples,), noisy and clean, of one length, at `sample_rate` in Hz."""

    name: str
    noisy: np.ndarray
    clean: np.ndarray
    sample_rate: int = SAMPLE_RATE


def quality(scores: dict[str, float]) -> float:
    """Return the score by which the best weights are kept: mean WB-PESQ plus SI-SDR in dB divided
    by 10.

    Those of unknown sources, where there are any.
    """
    prefix = UNKNOWN if UNKNOWN + "pesq_wb" in scores else ""
    return scores[prefix + "pesq_wb"] + scores[prefix + "si_sdr"] / 10


def find_pairs(folder: Path, sample_rate: int) -> list[Pair]:
    """Return the files of equal names in `folder`/noisy and `folder`/clean. Raises QseError when
    there are none.

    `sample_rate` is the network's, a multiple of SAMPLE_RATE, at which the metrics are defined.
    """
    if sample_rate % SAMPLE_RATE:
        needs = f"a model at {SAMPLE_RATE} Hz or a multiple, this one works at {sample_rate} Hz"
        raise QseError(f"{folder}: validation needs {needs}; train without valid=DIR")
    noisy = folder / "noisy"
    clean = folder / "clean"
    if not (noisy.is_dir() and clean.is_dir()):
        raise QseError(f"{folder}: no pairs; put files of equal names into {noisy} and {clean}")
    return pair_folders(noisy, clean)


def fingerprint(pairs: list[Utterance]) -> str:
    """Return a hash of the pairs: scores are compared only on equal pairs."""
    digest = sha256()
    for pair in pairs:
        digest.update(pair.noisy.tobytes() + pair.clean.tobytes())
    return digest.hexdigest()


def read_pairs(pairs: list[Pair], sample_rate: int = SAMPLE_RATE) -> list[Utterance]:
    """Read pairs at `rate_of` them.

    Raises QseError for a pair of different lengths, or one that the metrics cannot score.
    """
    rate = rate_of(pairs, sample_rate)
    return [_read(pair, rate) for pair in pairs]


def rate_of(pairs: list[Pair], sample_rate: int) -> int:
    """Return `sample_rate`, that of the network, if all files have it, else SAMPLE_RATE."""
    if sample_rate > SAMPLE_RATE and common_rate(pairs) == sample_rate:
        return sample_rate
    return SAMPLE_RATE


def _read(pair: Pair, rate: int) -> Utterance:
    clean, noisy = read_pair(pair, needs_clean=True, sample_rate=rate)
    if clean is None or not clean.any():
        raise QseError(
            f"{pair.clean}: is silent, and metrics are undefined against silence; "
            "leave the pair out"
        )
    if not SHORTEST <= len(clean) / rate <= LONGEST:
        raise QseError(
            f"{pair.clean}: validation files last {SHORTEST:g} to {LONGEST} s; cut it, "
            "or leave it out"
        )
    try:
        score_pair(clean=clean, enhanced=noisy, sample_rate=rate, metrics=["stoi", "pesq_wb"])
    except ValueError as error:
        raise QseError(f"{pair.clean}: cannot be scored ({error}); leave the pair out") from error
    return Utterance(pair.name, noisy.astype(np.float32), clean.astype(np.float32), rate)


def validate(
    network: Network,
    pairs: list[Utterance],
    device: torch.device,
    rank: int = 0,
    processes: int = 1,
    stopped: Callable[[], bool] = lambda: False,
) -> dict[str, float]:
    """Return the means of METRICS over all pairs; every process scores its share, all get the
    result.

    Pairs at UPPER_BAND_RATE or above have the SNR of the band above 8 kHz in addition, as
    `band_snr`. A network for a higher rate than that of the pairs works at theirs.

    nan if a pair has no score, as when the network is silent: this does not end a run. {} if one of
    the processes was `stopped` before it had scored its share.
    """
    training = network.training
    network.eval()
    scores = []
    for pair in pairs[rank::processes]:
        if stopped():
            break
        scores.append(_score(network, pair, device))
    rows = gather(scores)
    network.train(training)
    if len(rows) < len(pairs):
        return {}
    means = {}
    for metric in rows[0]:
        means[metric] = float(np.mean([row[metric] for row in rows]))
    return means


@torch.no_grad()
def _score(network: Network, pair: Utterance, device: torch.device) -> dict[str, float]:
    noisy = torch.from_numpy(pair.noisy).to(device)[None]
    rate = pair.sample_rate
    enhanced = network.at(rate).enhance(noisy)[0].float().cpu().numpy()
    names = (*METRICS, "band_snr") if rate >= UPPER_BAND_RATE else METRICS
    try:
        return score_pair(clean=pair.clean, enhanced=enhanced, sample_rate=rate, metrics=names)
    except ValueError:
        return dict.fromkeys(names, float("nan"))


class Validator:
    """Schedule of the validation, and the best score so far of the averaged weights.

    unknown: pairs from sources of which nothing is in the training data; they choose the best
    weights, and need `pairs` to compare with. best: highest quality for these pairs. last: step of
    the last validation. fingerprint: identifies the pairs; scores of different pairs are not
    compared.
    """

    def __init__(self, pairs: list[Utterance], every: int, unknown: list[Utterance] | None = None):
        self.pairs = pairs
        self.unknown = unknown or []
        self.every = every
        self.best = float("-inf")
        self.last = 0
        self.fingerprint = fingerprint(pairs + self.unknown)

    def due(self, step: int, end: bool = False) -> bool:
        """Return whether to validate after `step`: at every `every`-th, and at the `end`, once
        each."""
        return bool(self.pairs) and self.last < step and (end or step % self.every == 0)

    def validate(self, trainer: Trainer, stopped: Callable[[], bool]) -> dict[str, float]:
        """Return the mean scores, those of the unknown pairs with the prefix UNKNOWN.

        {} where a process was `stopped` before it had scored its share.
        """
        network = trainer.ema.network
        scores = dict[str, float]()
        for prefix, pairs in (("", self.pairs), (UNKNOWN, self.unknown)):
            if pairs:
                found = validate(network, pairs, trainer.device, trainer.rank, count(), stopped)
                if not found:
                    return {}
                for metric, score in found.items():
                    scores[prefix + metric] = score
        return scores

    def record(self, step: int, scores: dict[str, float]) -> bool:
        """Record the scores of `step`; return whether they are the best."""
        self.last = step
        better = quality(scores) > self.best
        if better:
            self.best = quality(scores)
        return better

    def header(self) -> dict[str, str]:
        """Return what a checkpoint holds of this, as text."""
        return {"best": str(self.best), "judged_by": self.fingerprint, "validated": str(self.last)}

    def restore(self, header: dict[str, str], best: Path) -> None:
        """Continue from the header of a checkpoint; the best score counts where it is of these
        pairs and `best` exists.

        A run without pairs keeps the score of those before.
        """
        before = header.get("judged_by", self.fingerprint)
        self.fingerprint = self.fingerprint if self.pairs else before
        if not self.pairs or (before == self.fingerprint and best.exists()):
            self.best = float(header.get("best", "-inf"))  # early runs have none
        self.last = int(header.get("validated", header["step"]))
