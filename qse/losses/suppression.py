"""Measure errors of suppression: residual noise in pauses, and attenuation of speech.

B = batch, N = samples, T = frames; S = clean spec, S^ = enhanced spec. terms.py says what all
losses share.
"""

from torch import Tensor

from .spectral import magnitude
from .stft import QUIETEST, check_waveforms, stft

FRAME_LENGTH = 320  # samples; 20 ms at 16 kHz
SILENCE = 1e-5  # a clean frame that is 50 dB below the loudest one counts as silent
# mean square at -100 dBFS, so that digital silence has a finite level and gradient
RESIDUAL_FLOOR = 1e-2 * QUIETEST


def noise_floor(*, clean: Tensor, enhanced: Tensor, noisy: Tensor) -> Tensor:
    """Return the level of the enhanced signal in noise-only frames, in dB relative to the noisy
    one; lower is better.

    Waveforms (B, N), N >= FRAME_LENGTH. A frame holds noise only where the clean signal is silent
    (50 dB below its loudest frame, or below -80 dBFS) and the noisy one is not; mean over these
    frames of an item, 0 without any. Unlike SNR and PESQ it does not saturate: each halving of the
    noise lowers it by 6 dB, down to -100 dBFS.
    """
    check_waveforms(clean, enhanced)
    check_waveforms(clean, noisy)
    speech = _frame_power(clean)  # (B, T)
    residue = _frame_power(enhanced)
    noise = _frame_power(noisy)
    silent = speech <= (SILENCE * speech.amax(1, keepdim=True)).clamp_min(QUIETEST)
    chosen = silent & (noise > QUIETEST)
    level = 10 * ((residue + RESIDUAL_FLOOR) / (noise + RESIDUAL_FLOOR)).log10()
    return ((level * chosen).sum(1) / chosen.sum(1).clamp_min(1)).mean()


def over_attenuation(
    *,
    clean: Tensor,
    enhanced: Tensor,
    n_fft: int = 512,
    hop_length: int = 128,
    exponent: float = 0.3,
) -> Tensor:
    """Return the share of clean speech that the enhanced signal lacks, 0 to 1; what it has in
    excess does not count.

    Sum over the bins of max(0, |S|^c - |S^|^c)^2 divided by that of |S|^(2 c), with c = `exponent`:
    the asymmetric loss of Wang et al. 2020 (VoiceFilter-Lite: Streaming targeted voice separation
    for on-device speech recognition) on compressed magnitudes, per item. 0 where the clean signal
    is silent.
    """
    check_waveforms(clean, enhanced)
    target = magnitude(stft(clean, n_fft, hop_length)).pow(exponent).flatten(1)
    found = magnitude(stft(enhanced, n_fft, hop_length)).pow(exponent).flatten(1)
    return ((target - found).clamp_min(0).square().sum(1) / target.square().sum(1)).mean()


def _frame_power(x: Tensor) -> Tensor:
    """Return the mean square of each frame, (B, N) -> (B, T); the rest of the last frame is left
    out."""
    return x.unfold(1, FRAME_LENGTH, FRAME_LENGTH).square().mean(2)
