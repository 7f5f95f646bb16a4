"""Score pairs in a process beside the training.

This file imports nothing heavy: a worker does not need PyTorch.
"""

import math
from typing import NamedTuple

import numpy as np

from ..evaluate.perceptual import pesq_wb
from ..evaluate.scoring import score_pair


class Output(NamedTuple):
    """Hold what a network made of pair `number`: float32 (samples,) beside the clean signal, and
    the metrics to compute."""

    number: int
    clean: np.ndarray
    enhanced: np.ndarray
    sample_rate: int
    metrics: tuple[str, ...]


def scores(output: Output) -> tuple[int, dict[str, float]]:
    """Return the number of the pair and its scores, not a number where there are none."""
    number, clean, enhanced, rate, metrics = output
    try:
        return number, score_pair(clean=clean, enhanced=enhanced, sample_rate=rate, metrics=metrics)
    except ValueError:
        return no_scores(output)


def no_scores(output: Output) -> tuple[int, dict[str, float]]:
    """Return the same as `scores` for an output that cannot be scored."""
    return output.number, dict.fromkeys(output.metrics, math.nan)


def pesq(clean: np.ndarray, enhanced: np.ndarray) -> float:
    """Return WB-PESQ at 16 kHz, or not a number where the clean signal holds no speech."""
    try:
        return pesq_wb(clean=clean, enhanced=enhanced)
    except ValueError:
        return math.nan
