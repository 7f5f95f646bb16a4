"""Compute the PESQ loss: a differentiable form of the perceptual model of ITU-T P.862 / P.862.2
(wide band).

B = batch, N = samples at 16 kHz, T = frames of 32 ms, Z = 49 bands of equal width in Bark; P =
power per band, where 1 is the hearing level of 0 dB; D = disturbance. Kim et al. 2019 (End-to-end
multi-task denoising for joint SDR and PESQ optimization) and Martin-Donas et al. 2018 (PMSQE)
proposed such losses. Against the recommendation: no time alignment and no bad-interval search
(clean and enhanced are aligned sample by sample in training), filters act on the power spectrum,
and bands and hearing threshold come from formulas rather than from its tables.
"""

import math
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.linalg import vector_norm
from torch.nn.functional import conv1d, pad

from .stft import QUIETEST, check_waveforms, power_spectrum

SAMPLE_RATE = 16000
N_FFT = 512
HOP_LENGTH = 256
BANDS = 49
BAND_WIDTH = 7 * math.asinh(SAMPLE_RATE / 2 / 650) / BANDS  # Bark
# mean square between 325 and 3250 Hz after level alignment; full scale +-1
ALIGNED_POWER = 1e7 / 2.0**30
# mean square of the 1 kHz tone that is to be perceived at 40 dB, P = 1e4
TONE_40_DB = 0.5 * (29.54 / 2.0**15) ** 2
SONE = 0.1866  # makes that tone 1 sone loud, about (P.862's constant)
# keep quotients of powers near 1 where nothing is audible
BAND_POWER_BIAS = 1e3
FRAME_POWER_BIAS = 5e3
SMOOTHING = 16  # frames over which gains are smoothed; the weight of the last one is 3e-11
SILENT_FRAME = 1e7  # audible power of a clean frame below which it is left out of the equalisation


def pesq(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return 4.5, the best raw PESQ score, minus the score: at least 0, at most 5.9, mean over the
    batch.

    Waveforms (B, N) at 16 kHz, N > 256. Raw score = 4.5 - 0.1 D - 0.0309 D_asymmetric; the loss
    does
    not map it to a listening score, for that curve is flattest where speech is worst. An item whose
    clean signal is silent counts as 0: level alignment would make its residue equally loud at any
    level.
    """
    return (_distance(clean, enhanced) * (clean.square().mean(1) > QUIETEST)).mean()


def predicted_pesq(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return an estimate of WB-PESQ (B,), 1.01 to 4.64, of (B, N) and (B, N), by the mapping of
    P.862.2."""
    raw = 4.5 - _distance(clean, enhanced)
    return 0.999 + 4.0 / (1.0 + torch.exp(-1.3669 * raw + 3.8224))


def _distance(clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return 0.1 D + 0.0309 D_asymmetric, (B,)."""
    check_waveforms(clean, enhanced)
    ear = _ear(clean.dtype, clean.device)
    reference, degraded = _equalised(
        _band_powers(clean, ear), _band_powers(enhanced, ear), ear.threshold
    )
    loudness = _loudness(reference, ear)
    guess = _loudness(degraded, ear)
    dead_zone = 0.25 * torch.minimum(loudness, guess)
    difference = guess - loudness
    disturbance = difference.sign() * (difference.abs() - dead_zone).clamp_min(0)  # (B, T, Z)
    # what is added disturbs more than what is missing
    added = ((degraded + 50) / (reference + 50)).pow(1.2)
    added = torch.where(added < 3, torch.zeros_like(added), added.clamp_max(12))
    effort = ((_audible(reference, ear.threshold) + 1e5) / 1e7).pow(0.04)  # (B, T)
    symmetric = vector_norm(disturbance, dim=2) * BAND_WIDTH**1.5 * BANDS**0.5 / effort
    asymmetric = (disturbance.abs() * added).sum(2) * BAND_WIDTH / effort
    return 0.1 * _over_time(symmetric) + 0.0309 * _over_time(asymmetric)


class _Ear(NamedTuple):
    """Hold the constants of the model as tensors."""

    telephone: Tensor  # (F,): |S|^2 -> mean square in the telephone band
    bands: Tensor  # (F, Z): |S|^2 -> P
    threshold: Tensor  # (Z,): hearing threshold as P
    exponent: Tensor  # (Z,): of Zwicker's law


def _band_powers(x: Tensor, ear: _Ear) -> Tensor:
    """Return the powers P (B, T, Z) of (B, N), at the listening level."""
    power = power_spectrum(x, N_FFT, HOP_LENGTH)  # (B, T, F)
    gain = ALIGNED_POWER / (power @ ear.telephone).mean(1).clamp_min(QUIETEST)  # (B,)
    return power @ ear.bands * gain[:, None, None]


def _equalised(reference: Tensor, degraded: Tensor, threshold: Tensor) -> tuple[Tensor, Tensor]:
    """Compensate a constant frequency response, by applying it to the clean signal too, and a
    slowly varying gain."""
    speech = _audible(reference, 100 * threshold) >= SILENT_FRAME  # (B, T)

    def average(power: Tensor) -> Tensor:
        # (B, 1, Z)
        return (power * (power > 100 * threshold) * speech[:, :, None]).mean(1, keepdim=True)

    colour = (average(degraded) + BAND_POWER_BIAS) / (average(reference) + BAND_POWER_BIAS)
    reference = reference * colour.clamp(0.01, 100)
    gain = _audible(reference, threshold) + FRAME_POWER_BIAS
    gain = gain / (_audible(degraded, threshold) + FRAME_POWER_BIAS)  # (B, T)
    return reference, degraded * _smoothed(gain).clamp(3e-4, 5)[:, :, None]


def _smoothed(gain: Tensor) -> Tensor:
    """Return (B, T) smoothed by y[t] = 0.8 x[t] + 0.2 y[t - 1], y[0] = x[0].

    Written as a sum over the last frames, of which those before the first count as equal to it.
    """
    weights = 0.8 * 0.2 ** torch.arange(SMOOTHING, dtype=gain.dtype, device=gain.device)
    before = pad(gain[:, None], (SMOOTHING - 1, 0), mode="replicate")
    return conv1d(before, weights.flip(0)[None, None])[:, 0]


def _audible(power: Tensor, threshold: Tensor) -> Tensor:
    """Return the power of the bands above the threshold: (B, T, Z) -> (B, T)."""
    return (power * (power > threshold)).sum(2)


def _loudness(power: Tensor, ear: _Ear) -> Tensor:
    """Apply Zwicker's law: sone per Bark of each band, 0 below the hearing threshold."""
    sensation = (0.5 + 0.5 * (power / ear.threshold).clamp_min(1)).pow(ear.exponent) - 1
    return SONE * (2 * ear.threshold).pow(ear.exponent) * sensation


def _over_time(disturbance: Tensor) -> Tensor:
    """Average (B, T) to (B,): L6 mean over parts of about 320 ms, for the worst moments, then L2
    mean over parts."""
    frames = disturbance.shape[1]
    clipped = pad(disturbance.clamp_max(45), (0, max(20 - frames, -frames % 10)))
    parts = vector_norm(clipped.unfold(1, 20, 10), ord=6, dim=2) / 20 ** (1 / 6)  # (B, parts)
    return vector_norm(parts, dim=1) / parts.shape[1] ** 0.5


def _bark(frequency: np.ndarray) -> np.ndarray:
    """Convert Hz to Bark by Schroeder's formula."""
    return 7 * np.arcsinh(frequency / 650)


@lru_cache(maxsize=8)
def _ear(dtype: torch.dtype, device: torch.device) -> _Ear:
    with torch.inference_mode(False):  # kept for later calls, which may need gradients
        as_tensor = partial(torch.as_tensor, dtype=dtype, device=device)
        return _Ear(*map(as_tensor, (*_filters(), *_hearing())))


def _filters() -> tuple[np.ndarray, np.ndarray]:
    """Return `telephone` and `bands` of _Ear; the latter holds the wide-band input filter of
    P.862.2.

    A bin is a strip of its width in Hz, shared among the bands by how much of it they cover in
    Bark.
    """
    step = SAMPLE_RATE / N_FFT
    frequency = np.arange(N_FFT // 2 + 1) * step
    # Parseval, one-sided, Hann window
    mean_square = np.full(len(frequency), 2.0 / (0.375 * N_FFT**2))
    telephone = mean_square * ((frequency >= 325) & (frequency <= 3250))
    low = _bark(np.clip(frequency - step / 2, 0, SAMPLE_RATE / 2))
    high = _bark(np.clip(frequency + step / 2, 0, SAMPLE_RATE / 2))
    edges = np.arange(BANDS + 1) * BAND_WIDTH
    shared = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
    shared = shared.clip(0) / (high - low)[:, None]
    # second-order high-pass, +9 dB
    input_filter = 10**0.9 * frequency**4 / (frequency**4 + 200.0**4)
    return telephone, (mean_square * input_filter / TONE_40_DB * 1e4)[:, None] * shared


def _hearing() -> tuple[np.ndarray, np.ndarray]:
    """Return `threshold` by Terhardt's formula and `exponent`, larger below 4 Bark, at the middle
    of each band."""
    centre = (np.arange(BANDS) + 0.5) * BAND_WIDTH
    kilohertz = 0.65 * np.sinh(centre / 7)
    decibels = (
        3.64 * kilohertz**-0.8 - 6.5 * np.exp(-0.6 * (kilohertz - 3.3) ** 2) + 1e-3 * kilohertz**4
    )
    return 10 ** (decibels / 10), 0.23 * np.clip(6 / (centre + 2), 1, 2) ** 0.15
