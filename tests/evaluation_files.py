"""Audio files and rows for the tests of evaluation."""

from pathlib import Path

import numpy as np
import soundfile
from speech import SAMPLE_RATE

from qse.data import datasets
from qse.evaluate import runner
from qse.evaluate.systems import NoisySystem, System

NOISY = NoisySystem("noisy")
FAST = ("stoi", "si_sdr")


def write(path: Path, audio: np.ndarray, sample_rate: int = SAMPLE_RATE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, audio, sample_rate)
    return path


def rows_of(corpus: Path, system: System = NOISY, **options) -> list[dict]:
    pairs = datasets.pair_folders(corpus / "noisy", corpus / "clean")
    return runner.score_pairs(
        system, pairs, corpus / "out", **{"metrics": FAST, "jobs": 0, **options}
    )
