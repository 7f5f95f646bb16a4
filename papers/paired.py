"""Paired differences between arms over seeds, with intervals, and what they say about a margin."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from scipy import stats

LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences and its 95 % interval, by Student's distribution."""

    mean: float
    low: float
    high: float

    def verdict(self, margin: float) -> str:
        """Return what the interval says, if a higher value is better.

        "loss": more is lost than `margin`; "no loss": less is lost; "undecided": the interval holds
        both.
        """
        if self.high < -margin:
            return "loss"
        if self.low > -margin:
            return "no loss"
        return "undecided"

    def text(self, digits: int) -> str:
        """Return "+0.012 (-0.003 to +0.027)"."""
        return f"{self.mean:+.{digits}f} ({self.low:+.{digits}f} to {self.high:+.{digits}f})"


def difference(values: Sequence[float], reference: Sequence[float]) -> Difference:
    """Return the mean of `values` minus `reference`, pair by pair; at least two pairs."""
    pairs = [a - b for a, b in zip(values, reference, strict=True)]
    middle = mean(pairs)
    quantile = stats.t.ppf((1 + LEVEL) / 2, len(pairs) - 1)
    half = float(quantile) * stdev(pairs) / math.sqrt(len(pairs))
    return Difference(middle, middle - half, middle + half)
