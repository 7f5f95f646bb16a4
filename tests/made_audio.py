"""Made-up audio for the tests of data: noise, tones, buzzes, and power in a band by NumPy."""

import math

import numpy as np
import torch

RATE = 16000
N = 2 * RATE


def white(rows: int, samples: int = N, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, samples, generator=torch.Generator().manual_seed(seed)) * 0.1


def tone(*hertz: float, samples: int = N) -> torch.Tensor:
    return 0.5 * torch.sin(
        2 * math.pi * torch.tensor(hertz)[:, None] * torch.arange(samples) / RATE
    )


def band_power(audio: torch.Tensor, low: float, high: float) -> float:
    """Mean power density of one row (N,) in a band, in dB, by NumPy."""
    spectrum = np.abs(np.fft.rfft(audio.double().numpy())) ** 2
    frequency = np.fft.rfftfreq(audio.shape[-1], 1 / RATE)
    return 10 * np.log10(spectrum[(frequency >= low) & (frequency < high)].mean() + 1e-20)


def pulses(hertz: float, samples: int = N) -> np.ndarray:
    """A buzz with a period that need not be a whole number of samples."""
    time = np.arange(samples) / RATE
    return (
        sum(np.cos(2 * np.pi * n * hertz * time) / n for n in range(1, int(4000 / hertz) + 1)) * 0.1
    )
