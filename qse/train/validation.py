"""Validate a run at intervals: score enhanced pairs, and find the best weights."""

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

from ..data.datasets import Stages
from ..evaluate import metrics
from ..evaluate.pool import spread
from ..networks import Network
from ..networks.network import evaluating
from . import score_worker
from .exchange import count, gather
from .score_worker import Output
from .trainer import Trainer
from .validation_pairs import Utterance, untold

METRICS = ("pesq_wb", "stoi", "si_sdr")
UPPER_BAND_RATE = metrics.METRICS["band_snr"].least_rate  # Hz, from which on this metric is added
UNKNOWN = "unknown_"  # prefix of the scores of sources that are in no training data
IN_ONE = "set train.valid_processes to 0"


def quality(scores: dict[str, float]) -> float:
    """Return the score by which the best weights are kept: mean WB-PESQ plus SI-SDR in dB divided
    by 10.

    Those of unknown sources, where there are any.
    """
    prefix = UNKNOWN if UNKNOWN + "pesq_wb" in scores else ""
    return scores[prefix + "pesq_wb"] + scores[prefix + "si_sdr"] / 10


def fingerprint(pairs: list[Utterance]) -> str:
    """Return a hash of the pairs: scores are compared only on equal pairs."""
    digest = sha256()
    for pair in pairs:
        digest.update(pair.noisy.tobytes() + pair.clean.tobytes())
    return digest.hexdigest()


def validate(
    network: Network,
    pairs: list[Utterance],
    device: torch.device,
    rank: int = 0,
    processes: int = 1,
    stopped: Callable[[], bool] = lambda: False,
    jobs: int = 0,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> dict[str, float]:
    """Return the means of METRICS over all pairs; every process scores its share, all get the
    result.

    jobs: processes that score beside this one, which enhances meanwhile; 0: this one scores.
    progress: called with the number of pairs of the share that are scored, and of all of them.

    Pairs at UPPER_BAND_RATE or above have the SNR of the band above 8 kHz in addition, as
    `band_snr`. A network for a higher rate than that of the pairs works at theirs.

    nan if a pair has no score, as when the network is silent: this does not end a run. {} if one of
    the processes was `stopped` before it had scored its share.
    """
    share = pairs[rank::processes]
    outputs = _outputs(network, share, device, stopped)
    jobs = min(jobs, len(share))
    if jobs:
        scored = spread(score_worker.scores, outputs, jobs, score_worker.no_scores, IN_ONE)
    else:
        scored = map(score_worker.scores, outputs)
    progress(0, len(share))
    found = {}
    with evaluating(network):  # `scored` enhances as it goes
        for number, scores in scored:
            found[number] = scores
            progress(len(found), len(share))
    rows = gather([found[number] for number in sorted(found)])
    if len(rows) < len(pairs):
        return {}
    means = {}
    for metric in rows[0]:
        means[metric] = float(np.mean([row[metric] for row in rows]))
    return means


def _outputs(
    network: Network, pairs: list[Utterance], device: torch.device, stopped: Callable[[], bool]
) -> Iterator[Output]:
    """Yield what the network makes of the pairs, until `stopped`."""
    for number, pair in enumerate(pairs):
        if stopped():
            return
        rate = pair.sample_rate
        names = (*METRICS, "band_snr") if rate >= UPPER_BAND_RATE else METRICS
        with torch.no_grad():
            noisy = torch.from_numpy(pair.noisy).to(device)[None]
            enhanced = network.at(rate).enhance(noisy)[0].float().cpu().numpy()
        yield Output(number, pair.clean, enhanced, rate, names)


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

    def validate(
        self, trainer: Trainer, stopped: Callable[[], bool], progress: Stages = untold
    ) -> dict[str, float]:
        """Return the mean scores, those of the unknown pairs with the prefix UNKNOWN.

        {} where a process was `stopped` before it had scored its share.
        """
        network = trainer.ema.network
        jobs = trainer.config.valid_processes
        scores = dict[str, float]()
        for prefix, pairs in (("", self.pairs), (UNKNOWN, self.unknown)):
            if not pairs:
                continue
            sources = " of unknown sources" if prefix else ""
            what = f"step {trainer.done}: scoring validation pairs{sources}: {len(pairs)}"
            found = validate(
                network,
                pairs,
                trainer.device,
                trainer.rank,
                count(),
                stopped,
                jobs,
                partial(progress, what),
            )
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
