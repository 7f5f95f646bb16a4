"""Validate a run at intervals, and find the best weights."""

from collections.abc import Callable
from pathlib import Path

from .parallel import count
from .trainer import Trainer
from .validation import UNKNOWN, Utterance, fingerprint, quality, validate


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
                scores |= {prefix + metric: score for metric, score in found.items()}
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
        if before == self.fingerprint and best.exists():
            self.best = float(header.get("best", "-inf"))  # early runs have none
        self.last = int(header.get("validated", header["step"]))
