"""Synthesise noise: coloured, speech-shaped, mains hum, clicks.

Pure functions: white noise and the parameters of each row as tensors on one device in, audio (B, N)
float32 out.

Glossary: B rows, N samples, F = N // 2 + 1 bins, K clicks, H harmonics.
"""

import math

import torch
from torch import Tensor

from .filters import apply_gains, bin_frequencies


def coloured(white: Tensor, slope: Tensor, lowest: float = 30 / 8000) -> Tensor:
    """Tilt white noise (B, N) by `slope` dB per octave (B,); flat below `lowest` (of Nyquist = 1),
    no DC."""
    frequency = bin_frequencies(white).clamp_min(lowest)
    gains = frequency ** (slope[:, None] / (20 * math.log10(2)))  # (B, F)
    gains[:, 0] = 0
    return apply_gains(white, gains)


def speech_shaped(white: Tensor, speech: Tensor) -> Tensor:
    """Return noise with exactly the magnitude spectrum of `speech` and the phases of the white
    noise, (B, N)."""
    noise = torch.fft.rfft(white)
    noise = noise / noise.abs().clamp_min(1e-9)
    return torch.fft.irfft(noise * torch.fft.rfft(speech).abs(), n=white.shape[-1])


def hum(mains: Tensor, amplitude: Tensor, phase: Tensor, samples: int, sample_rate: int) -> Tensor:
    """Sum harmonics of `mains` Hz (B,) with amplitude and phase (B, H): (B, samples)."""
    harmonic = torch.arange(1, amplitude.shape[-1] + 1, device=mains.device)
    omega = 2 * math.pi / sample_rate * mains[:, None] * harmonic  # (B, H)
    time = torch.arange(samples, device=mains.device)
    waves = torch.sin(omega[..., None] * time + phase[..., None])  # (B, H, N)
    return (amplitude[..., None] * waves).sum(1)


def clicks(
    position: Tensor, amplitude: Tensor, burst: Tensor, samples: int, decay: float = 16.0
) -> Tensor:
    """Place bursts of white noise (B, K, W), decaying by 1 / e in `decay` samples, at int64
    `position` (B, K)."""
    width = burst.shape[-1]
    ramp = torch.exp(-torch.arange(width, device=burst.device) / decay)
    index = position[..., None] + torch.arange(width, device=burst.device)  # (B, K, W)
    out = torch.zeros(len(position), samples + width, device=burst.device)
    out.scatter_add_(1, index.flatten(1), (amplitude[..., None] * burst * ramp).flatten(1))
    return out[:, :samples]
