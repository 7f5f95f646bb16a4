"""Files of noise for tests of commands and batches."""

from pathlib import Path

import numpy as np
import soundfile


def speech(samples: int, channels: int = 1, seed: int = 0) -> np.ndarray:
    return (0.2 * np.random.default_rng(seed).standard_normal((samples, channels))).astype(
        np.float32
    )


def make(
    path: Path, samples: int = 4000, channels: int = 1, sample_rate: int = 16000, **how
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, speech(samples, channels), sample_rate, **how)
    return path


def samples(path: Path) -> np.ndarray:
    return soundfile.read(path, dtype="float32", always_2d=True)[0]


def tree(folder: Path) -> list[str]:
    """Return the files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
