"""Audio files and rows for the tests of evaluation."""

from pathlib import Path

import numpy as np
import soundfile
from speech import SAMPLE_RATE

from qse.data import datasets
from qse.evaluate.evaluation import evaluate
from qse.evaluate.system import NoisySystem, System

NOISY = NoisySystem("noisy")
FAST = ("stoi", "si_sdr")


def write(path: Path, audio: np.ndarray, sample_rate: int = SAMPLE_RATE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, audio, sample_rate)
    return path


def rows_of(corpus: Path, system: System | str | Path = NOISY, **options) -> list[dict]:
    """Evaluate a system on clean/ and noisy/ of a folder, into its folder out/."""
    pairs = datasets.pair_folders(corpus / "noisy", corpus / "clean")
    return evaluate(system, pairs, corpus / "out", **{"metrics": FAST, **options}).rows
