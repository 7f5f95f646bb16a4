"""Compare full-band waveforms: the band above 8 kHz, and the band below for losses that are defined
at 16 kHz.

B = batch, N = samples. terms.py says what all losses share.
"""

import torch
from torch import Tensor

from .stft import QUIETEST, check_waveforms
from .waveform import SNR_LIMIT

WIDE_BAND = 16000  # Hz: the sample rate of PESQ, STOI, and the band below 8 kHz
# mean square at -100 dBFS: speech above 8 kHz is some 30 dB below the rest
HIGH_FLOOR = 1e-2 * QUIETEST


def to_wide_band(x: Tensor, sample_rate: int) -> Tensor:
    """Return (B, N) at `sample_rate`, a multiple of 16 kHz, at 16 kHz: (B, N // ratio), without
    what lies above 8 kHz.

    The spectrum of the whole signal is cut, so the ends wrap around. Samples beyond a multiple of
    the ratio are left out.
    """
    ratio = sample_rate // WIDE_BAND
    samples = x.shape[1] // ratio
    spectrum = torch.fft.rfft(x[:, : samples * ratio])[:, : samples // 2 + 1]
    return torch.fft.irfft(spectrum, samples) / ratio


def high_band_snr(*, clean: Tensor, enhanced: Tensor, sample_rate: int) -> Tensor:
    """Return the negative SNR above 8 kHz in dB, at least -SNR_LIMIT; lower is better. Nothing lies
    there at 16 kHz.

    10 lg(sum |X|^2 / sum |X^ - X|^2) over the bins above 8 kHz of the whole signal (Parseval).
    Where the clean signal has nothing there, it is the level of the enhanced one above -100 dBFS.
    """
    check_waveforms(clean, enhanced)
    first = clean.shape[1] * WIDE_BAND // (2 * sample_rate)
    samples = clean.shape[1]
    kept = _energy(torch.fft.rfft(clean)[:, first:], samples)
    lost = _energy(torch.fft.rfft(enhanced - clean)[:, first:], samples)
    share = 10.0 ** (-SNR_LIMIT / 10.0)
    floor = HIGH_FLOOR * clean.shape[1]
    return 10.0 * ((lost + share * kept + floor) / (kept + floor)).log10().mean()


def _energy(spectrum: Tensor, samples: int) -> Tensor:
    """Return the energy (B,) in the bins of a real spectrum above zero frequency."""
    return 2 / samples * (spectrum.real.square() + spectrum.imag.square()).sum(1)
