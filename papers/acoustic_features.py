"""Quaternion acoustic features (Parcollet et al. 2019, section 3.2, Eq. 25).

Log mel bands and three derivatives: e + de/dt i + d2e/dt2 j + d3e/dt3 k, per band and frame. A
derivative is the regression slope over five frames, as in Kaldi's `add-deltas`; the higher ones
repeat it.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from qse.extras import need

BANDS = 40
WINDOW = 0.025  # seconds
HOP = 0.010  # seconds
SLOPE = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0]) / 10  # least-squares slope over five frames


def acoustic_quaternions(wave: np.ndarray, sample_rate: int, bands: int = BANDS) -> Tensor:
    """Return (T, 4, bands) of a mono waveform.

    Every real coefficient has mean 0 and variance 1 over the recording.
    """
    views = [log_mel(wave, sample_rate, bands)]
    for _ in range(3):
        views.append(slope(views[-1]))
    x = torch.stack(views, 1)
    return (x - x.mean(0)) / x.std(0, unbiased=False).clamp_min(1e-5)


def log_mel(wave: np.ndarray, sample_rate: int, bands: int = BANDS) -> Tensor:
    """Return the logarithm of mel band powers (T, bands), windows of 25 ms every 10 ms."""
    mel = need("librosa.filters", "evaluate").mel
    window = round(WINDOW * sample_rate)
    hop = round(HOP * sample_rate)
    n_fft = 2 * 2 ** (window - 1).bit_length()  # zero-padded, so that the lowest bands hold a bin
    matrix = mel(sr=sample_rate, n_fft=n_fft, n_mels=bands, fmin=20, htk=True, norm=None)
    audio = F.pad(torch.from_numpy(np.asarray(wave, np.float32)), (0, max(0, window - len(wave))))
    frames = audio.unfold(0, window, hop) * torch.hamming_window(window, periodic=False)
    power = torch.fft.rfft(frames, n_fft).abs().square()
    return (power @ torch.from_numpy(matrix).T + 1e-10).log()


def slope(x: Tensor) -> Tensor:
    """Return the derivative of (T, C) along time, per frame; the ends are repeated."""
    padded = F.pad(x.T[:, None], (2, 2), mode="replicate")
    return F.conv1d(padded, SLOPE[None, None])[:, 0].T
