"""A loss term, a metric and a corpus as somebody outside of the package writes them."""

import numpy as np
import torch

from qse.data import Batch
from qse.evaluate import Metric


def distance(*, clean, enhanced):
    """Return the mean magnitude of the error."""
    return (clean - enhanced).abs().mean()


def with_target(*, clean, target):
    """Need what no training has."""
    return (clean - target).abs().mean()


def loudness(*, enhanced, sample_rate):
    """Return the level in dB."""
    return float(10 * np.log10(np.square(enhanced).mean() + 1e-12))


def without_rate(*, enhanced):
    """Lack the sample rate."""
    return 0.0


worst_error = Metric(
    "largest error", lambda clean, enhanced, sample_rate: float(abs(clean - enhanced).max())
)


class Noise:
    """Noise, and what is to be made of it: a quarter."""

    segments = 20

    def batch(self, step, size, rank=0):
        noisy = 0.1 * torch.randn(size, 3200, generator=torch.Generator().manual_seed(step))
        return Batch(noisy, 0.25 * noisy, 16000)


def corpus(data, mix, seed, device, shares=1):
    """Open the corpus in the folder `data`."""
    assert (data / "corpus.txt").is_file()
    return Noise()
