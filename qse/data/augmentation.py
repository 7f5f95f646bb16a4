"""Augment recordings: speed, reversal, splices, saturation.

Pure functions of audio (B, N) float32 and parameters of each row as tensors on the same device.
None draws a random number, none returns NaN for silence. See also filters.py, levels.py, voice.py
and synthetic_noise.py.

Glossary: B rows, N samples.
"""

import torch
from torch import Tensor


def change_speed(audio: Tensor, samples: int) -> Tensor:
    """Resample (B, N) to (B, samples): tempo and pitch change by the factor N / samples."""
    spectrum = torch.fft.rfft(audio)
    return torch.fft.irfft(spectrum, n=samples) * (samples / audio.shape[-1])


def reverse(audio: Tensor) -> Tensor:
    """Reverse the order of the samples: (B, N)."""
    return audio.flip(-1)


def splice(first: Tensor, second: Tensor, position: Tensor, fade: int) -> Tensor:
    """Cross-fade linearly from `first` to `second` (B, N), from sample `position` int64 (B,) on, in
    `fade` samples."""
    time = torch.arange(first.shape[-1], device=first.device)
    return first.lerp(second, ((time - position[:, None]) / fade).clamp(0, 1))


def soft_clip(audio: Tensor, drive: Tensor) -> Tensor:
    """Saturate by tanh with gain 1 for small signals; the peak is multiplied by tanh(drive) /
    drive, drive (B,)."""
    scale = audio.abs().amax(-1).clamp_min(1e-6)[:, None] / drive[:, None]
    return scale * torch.tanh(audio / scale)
