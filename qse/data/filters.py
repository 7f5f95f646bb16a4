"""Filter audio: equaliser, low-pass, impulse responses, gains over time.

Pure functions of audio (B, N) float32 and parameters of each row as tensors on the same device.
Filters other than convolutions act on the spectrum of the whole row: they have zero phase and wrap
around at its ends.

Glossary: B rows, N samples, F = N // 2 + 1 bins, K knots, L taps.
"""

import math

import torch
from torch import Tensor

from .levels import decibels


def change_gain(audio: Tensor, knots: Tensor) -> Tensor:
    """Apply a gain in dB, interpolated linearly between `knots` (B, K) evenly spaced in time."""
    place = torch.linspace(0, knots.shape[-1] - 1, audio.shape[-1], device=audio.device)
    return audio * decibels(interpolate(knots, place))


def equalise(audio: Tensor, knots: Tensor, lowest: float = 60 / 8000) -> Tensor:
    """Apply a spectral gain through `knots` dB (B, K), evenly in log frequency from `lowest`
    (of Nyquist = 1) to 1."""
    # (F,) 0 at lowest, 1 at Nyquist
    place = 1 - bin_frequencies(audio).clamp_min(lowest).log() / math.log(lowest)
    return apply_gains(audio, decibels(interpolate(knots, place * (knots.shape[-1] - 1))))


def low_pass(audio: Tensor, cutoff: Tensor, order: int = 20) -> Tensor:
    """Apply a Butterworth magnitude, -3 dB at `cutoff` (B,) in units of the Nyquist frequency."""
    ratio = bin_frequencies(audio) / cutoff[:, None]  # (B, F)
    return apply_gains(audio, (1 + ratio ** (2 * order)).rsqrt())


def convolve(audio: Tensor, taps: Tensor) -> Tensor:
    """Convolve audio (..., N) with causal taps (..., L), cut to N samples;
    leading axes broadcast."""
    samples = audio.shape[-1]
    size = fast_size(samples + taps.shape[-1] - 1)
    spectrum = torch.fft.rfft(audio, n=size) * torch.fft.rfft(taps, n=size)
    return torch.fft.irfft(spectrum, n=size)[..., :samples]


def reverberate(audio: Tensor, response: Tensor, early: int) -> tuple[Tensor, Tensor]:
    """Return audio in the room of a response (B, L),
    and the same with its first `early` taps only."""
    begins = torch.arange(response.shape[-1], device=response.device) < early
    # (B, 2, N)
    parts = convolve(audio[:, None], torch.stack([response * begins, response * ~begins], dim=1))
    return parts.sum(1), parts[:, 0]


def bin_frequencies(audio: Tensor) -> Tensor:
    """Return the frequency of each bin of a whole row, Nyquist = 1: (F,)."""
    samples = audio.shape[-1]
    return torch.arange(samples // 2 + 1, device=audio.device) * (2 / samples)


def apply_gains(audio: Tensor, gains: Tensor) -> Tensor:
    """Multiply the spectrum of each row by gains (B, F)."""
    return torch.fft.irfft(torch.fft.rfft(audio) * gains, n=audio.shape[-1])


def interpolate(knots: Tensor, place: Tensor) -> Tensor:
    """Interpolate linearly between knots (B, K) at 0 ...

    K - 1; return the values at the positions (N,): (B, N).
    """
    left = place.floor().clamp(0, knots.shape[-1] - 2)
    part = place - left
    left = left.long()
    return torch.lerp(knots[:, left], knots[:, left + 1], part.expand(len(knots), -1))


def fast_size(samples: int) -> int:
    """Return a size of at least `samples` that is 8 ... 16 times a power of two:
    fast to transform."""
    unit = 1 << max(0, samples.bit_length() - 4)
    return -(-samples // unit) * unit
