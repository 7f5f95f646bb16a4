"""Compute the STOI loss: the short-time objective intelligibility of Taal et al. 2011 (An Algorithm
for Intelligibility Prediction of Time-Frequency Weighted Noisy Speech), written so that it can be
differentiated.

B = batch, N = samples at 16 kHz, T = frames of 25.6 ms, Z = 15 third-octave bands from 150 Hz, M =
stretches of 30 frames. Against the paper: its frames are cut from the signal at 16 kHz, not at 10
kHz, and silent frames are left out of the spectrogram rather than of the signals.
"""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.linalg import vector_norm

from .stft import check_waveforms, floored, power_spectrum

SAMPLE_RATE = 16000
WINDOW = 410
HOP_LENGTH = 205
N_FFT = 1024
# third octaves, Hz of the first one's centre, frames: 384 ms
BANDS = 15
LOWEST = 150.0
STRETCH = 30
DYNAMIC_RANGE = 1e-4  # frames of the clean signal that are 40 dB below its loudest count as silent
# an envelope counts as at most this much above the clean one: -15 dB of distortion
CLIPPED = 1 + 10 ** (15 / 20)


def stoi(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return 1 - STOI, 0 to 2, mean over the batch; items with less than 30 frames (0.4 s) of
    speech count as 1.

    Waveforms (B, N) at 16 kHz, N > 205.
    """
    return 1 - predicted_stoi(clean=clean, enhanced=enhanced).mean()


def predicted_stoi(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return an estimate of STOI (B,), -1 to 1, of (B, N) and (B, N)."""
    check_waveforms(clean, enhanced)
    # (B, T, F)
    power = power_spectrum(clean, N_FFT, HOP_LENGTH, WINDOW)
    guess = power_spectrum(enhanced, N_FFT, HOP_LENGTH, WINDOW)
    if power.shape[1] < STRETCH:
        return power.new_zeros(len(power))
    energy = power.sum(2)  # (B, T)
    silent = energy <= DYNAMIC_RANGE * energy.amax(1, keepdim=True)
    # speech first, its order kept
    order = silent.to(torch.uint8).argsort(dim=1, stable=True)[:, :, None]
    bands = _third_octaves(clean.dtype, clean.device)
    x = floored((power @ bands).take_along_dim(order, 1)).sqrt().unfold(1, STRETCH, 1)
    y = floored((guess @ bands).take_along_dim(order, 1)).sqrt().unfold(1, STRETCH, 1)
    # (B, M, Z, 30)
    y = torch.minimum(y * (vector_norm(x, dim=3) / vector_norm(y, dim=3))[..., None], CLIPPED * x)
    correlation = (_normalised(x) * _normalised(y)).sum(3).mean(2)  # (B, M)
    stretches = (~silent).sum(1, keepdim=True) - STRETCH + 1  # those of speech alone
    spoken = torch.arange(correlation.shape[1], device=clean.device) < stretches
    return (correlation * spoken).sum(1) / spoken.sum(1).clamp_min(1)


def _normalised(envelope: Tensor) -> Tensor:
    """Subtract the mean and scale to norm 1 along the last axis; a constant becomes 0."""
    envelope = envelope - envelope.mean(-1, keepdim=True)
    return envelope / floored(envelope.square().sum(-1, keepdim=True)).sqrt()


@lru_cache(maxsize=8)
def _third_octaves(dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return (F, Z): 1 where a bin belongs to a band; edges are rounded to the nearest bin."""
    edges = LOWEST * 2 ** ((2 * np.arange(BANDS + 1) - 1) / 6) / SAMPLE_RATE * N_FFT
    low = edges[:-1].round()
    high = edges[1:].round()
    bins = np.arange(N_FFT // 2 + 1)[:, None]
    with torch.inference_mode(False):  # kept for later calls, which may need gradients
        return torch.as_tensor((bins >= low) & (bins < high), dtype=dtype, device=device)
