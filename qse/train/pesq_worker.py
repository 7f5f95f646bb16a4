"""Score pairs in a process beside the training.

This file imports nothing heavy: a worker does not need PyTorch.
"""

import math

import numpy as np

from ..evaluate.perceptual import pesq_wb


def score(clean: np.ndarray, enhanced: np.ndarray) -> float:
    """Return WB-PESQ at 16 kHz, or not a number where the clean signal holds no speech."""
    try:
        return pesq_wb(clean=clean, enhanced=enhanced)
    except ValueError:
        return math.nan
