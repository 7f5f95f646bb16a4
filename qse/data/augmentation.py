"""Augment recordings: speed, reversal, splices, saturation.

Pure functions of audio (B, N) float32 and parameters of each row as tensors on the same device. None draws a random
number, none returns NaN for silence. See also filters.py, levels.py, voice.py and synthetic_noise.py.

Glossary: B rows, N samples.
"""

import torch
from torch import Tensor


def change_speed(audio: Tensor, samples: int) -> Tensor:
    """Play N samples in `samples`: tempo and pitch change by N / samples, as with a tape. (B, samples)."""
    spectrum = torch.fft.rfft(audio)
    return torch.fft.irfft(spectrum, n=samples) * (samples / audio.shape[-1])


def reverse(audio: Tensor) -> Tensor:
    """Play backwards."""
    return audio.flip(-1)


def splice(first: Tensor, second: Tensor, position: Tensor, fade: int) -> Tensor:
    """Play `first` and, from sample `position` int64 (B,) on, `second`, with a linear cross-fade of `fade` samples."""
    time = torch.arange(first.shape[-1], device=first.device)
    return first.lerp(second, ((time - position[:, None]) / fade).clamp(0, 1))


def soft_clip(audio: Tensor, drive: Tensor) -> Tensor:
    """Saturate by tanh, gain 1 for small signals; a peak becomes tanh(drive) / drive of itself, drive (B,)."""
    scale = audio.abs().amax(-1).clamp_min(1e-6)[:, None] / drive[:, None]
    return scale * torch.tanh(audio / scale)
