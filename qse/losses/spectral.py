"""Compare spectra: multi-resolution STFT loss, complex L1, and the power-compressed spectrum.

B = batch, N = samples, F = bins, T = frames; x = clean waveform, S = its spec. terms.py says
what all losses share.
"""

import torch
from torch import Tensor

from .stft import check_waveforms, floored, power_spectrum, stft

# mean |S|^2 of white noise at about -40 dBFS: a quieter clean signal counts as this loud

CONVERGENCE_FLOOR = 1e-2
# (n_fft, hop_length, win_length)
RESOLUTIONS = ((512, 50, 240), (1024, 120, 600), (2048, 240, 1200))


def multi_resolution_stft(
    *, clean: Tensor, enhanced: Tensor, resolutions: tuple[tuple[int, int, int], ...] = RESOLUTIONS
) -> Tensor:
    """Return spectral convergence plus L1 of the log magnitudes, mean over the resolutions; at
    least 0.

    Yamamoto, Song, Kim 2020 (Parallel WaveGAN): || |S| - |S^| ||_F / || |S| ||_F and the mean of
    |ln|S| - ln|S^||. FFT sizes 512, 1024, 2048 with that paper's hops 50, 120, 240 and Hann windows
    240, 600, 1200, in samples as printed there for 24 kHz; at 16 kHz they last 15, 37.5 and 75 ms.
    The norm of a clean
    item is at least that of CONVERGENCE_FLOOR, so that a pause does not dominate the batch.
    """
    check_waveforms(clean, enhanced)
    total = clean.new_zeros(())
    for n_fft, hop_length, win_length in resolutions:
        # |S|^2, (B, T*F)
        target = floored(power_spectrum(clean, n_fft, hop_length, win_length)).flatten(1)
        guess = floored(power_spectrum(enhanced, n_fft, hop_length, win_length)).flatten(1)
        norm = target.mean(1).clamp_min(CONVERGENCE_FLOOR).mul(target.shape[1]).sqrt()  # (B,)
        convergence = torch.linalg.vector_norm(target.sqrt() - guess.sqrt(), dim=1) / norm
        total = total + convergence.mean() + 0.5 * (target.log() - guess.log()).abs().mean()
    return total / len(resolutions)


def complex_l1(
    *, clean: Tensor, enhanced: Tensor, n_fft: int = 512, hop_length: int = 128
) -> Tensor:
    """Return the L1 error of the real plus that of the imaginary part of the spec, Eq. 72, mean
    over bins."""
    check_waveforms(clean, enhanced)
    error = stft(enhanced - clean, n_fft, hop_length)  # the STFT is linear: one instead of two
    return error.real.abs().mean() + error.imag.abs().mean()


def spectrum_l1(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return Eq. 72 of two specs (B, 2, T, F), as `complex_l1` does of two waveforms, mean over
    bins.

    A mask's output is usually no STFT of a signal: overlapping frames disagree, and the inverse
    STFT averages them. This loss counts each frame's error before that average.
    """
    return (enhanced - clean).abs().mean((0, 2, 3)).sum()


def compressed_spectrum(
    *,
    clean: Tensor,
    enhanced: Tensor,
    n_fft: int = 512,
    hop_length: int = 128,
    exponent: float = 0.3,
    complex_share: float = 0.3,
) -> Tensor:
    """Return the squared error of power-compressed specs, part complex and part magnitude; at least
    0.

    Braun & Tashev 2021 (A consolidated view of loss functions for supervised deep learning-based
    speech enhancement), without its level normalisation: complex_share * |S|S|^(c-1) -
    S^|S^|^(c-1)|^2
    + (1 - complex_share) * (|S|^c - |S^|^c)^2 with c = `exponent`, mean over the bins.
    """
    check_waveforms(clean, enhanced)
    spec = stft(clean, n_fft, hop_length)
    guess = stft(enhanced, n_fft, hop_length)
    mag = magnitude(spec)
    guess_mag = magnitude(guess)
    difference = torch.view_as_real(
        spec * mag.pow(exponent - 1) - guess * guess_mag.pow(exponent - 1)
    )
    complex_error = difference.square().sum(-1).mean()
    magnitude_error = (mag.pow(exponent) - guess_mag.pow(exponent)).square().mean()
    return complex_share * complex_error + (1 - complex_share) * magnitude_error


def magnitude(spec: Tensor) -> Tensor:
    """Return |S|, at least the root of POWER_FLOOR, below which the gradient is zero."""
    return floored(spec.real.square() + spec.imag.square()).sqrt()
