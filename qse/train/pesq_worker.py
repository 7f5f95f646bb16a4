"""Score pairs in a process beside the training.

This file imports nothing heavy: a worker does not need PyTorch.
"""

import math
import os
import signal
from multiprocessing import parent_process
from threading import Thread

import numpy as np

from ..evaluate.perceptual import pesq_wb


def begin() -> None:
    """Prepare a worker: it ends with its parent, which handles signals and finishes its step."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def score(clean: np.ndarray, enhanced: np.ndarray) -> float:
    """Return WB-PESQ at 16 kHz, or not a number where the clean signal holds no speech."""
    try:
        return pesq_wb(clean=clean, enhanced=enhanced)
    except ValueError:
        return math.nan


def _end_with_parent() -> None:
    parent = parent_process()
    if parent:
        parent.join()
        os._exit(0)
