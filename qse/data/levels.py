"""Measure and set levels.

Pure functions of audio (B, N) float32 and parameters of each row as tensors on the same device;
none returns NaN for silence.

Glossary: B rows, N samples.
"""

import torch
from torch import Tensor

SILENCE = 1e-4
"""A row whose active level lies below this (-80 dBFS) counts as silent."""


def decibels(value: Tensor) -> Tensor:
    """Convert dB to a linear amplitude factor."""
    return torch.pow(10.0, value / 20)


def active_level(audio: Tensor, frame: int = 320, depth: float = 40.0) -> Tensor:
    """Return the level (B,): RMS over the frames of `frame` samples within `depth` dB of the
    loudest one."""
    frame = min(frame, audio.shape[-1])
    # (B, frames)
    power = (
        audio[:, : audio.shape[-1] // frame * frame].unflatten(-1, (-1, frame)).square().mean(-1)
    )
    active = power >= power.amax(-1, keepdim=True) * 10 ** (-depth / 10)
    return ((power * active).sum(-1) / active.sum(-1)).sqrt()


def at_level(audio: Tensor, level: Tensor) -> Tensor:
    """Scale each row to an active level (B,); a silent row becomes exactly zero."""
    return audio * _gain_to(level, audio)[:, None]


def at_snr(noise: Tensor, speech: Tensor, snr: Tensor) -> Tensor:
    """Scale noise to `snr` dB (B,) below the speech, see `gain_to_snr`."""
    return noise * gain_to_snr(noise, speech, snr)[:, None]


def gain_to_snr(noise: Tensor, speech: Tensor, snr: Tensor) -> Tensor:
    """Return the gain (B,) that puts noise `snr` dB (B,) below the speech, by active levels.

    Where the SNR is undefined: 0 for silent noise, 1 if the speech is silent.
    """
    speech_level = active_level(speech)
    wanted = torch.where(speech_level > SILENCE, speech_level * decibels(-snr), active_level(noise))
    return _gain_to(wanted, noise)


def _gain_to(level: Tensor, audio: Tensor) -> Tensor:
    measured = active_level(audio)
    return torch.where(measured > SILENCE, level / measured.clamp_min(SILENCE), 0.0)


def at_peak(noisy: Tensor, clean: Tensor, peak: Tensor) -> tuple[Tensor, Tensor]:
    """Apply one gain to both, so that the peak of `noisy` is `peak` dBFS (B,); silence stays as it
    is."""
    highest = noisy.abs().amax(-1)
    gain = torch.where(highest > 1e-6, decibels(peak) / highest.clamp_min(1e-6), 1.0)[:, None]
    return noisy * gain, clean * gain
