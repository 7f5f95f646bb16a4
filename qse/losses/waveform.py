"""Compare waveforms: SI-SDR, SNR, and RMS error.

B = batch, N = samples; x = clean waveform. terms.py says what all losses share.
"""

import torch
from torch import Tensor

from .stft import POWER_FLOOR, QUIETEST, check_waveforms

RATIO_LIMIT = 50.0  # dB; si_sdr saturates smoothly at + and - this
SNR_LIMIT = 30.0  # dB; snr saturates smoothly here, or nearly clean items would dominate a batch


def si_sdr(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return the negative SI-SDR in dB, within +-RATIO_LIMIT; lower is better. Levels have no
    effect.

    Le Roux et al. 2019 and Li et al. 2020: target = <x^, x> x / |x|^2, SI-SDR = 10
    lg(|target|^2 / |x^ - target|^2), no mean removed.
    """
    check_waveforms(clean, enhanced)
    scale = (clean * enhanced).sum(1) / clean.square().sum(1).clamp_min(POWER_FLOOR)  # (B,)
    target = scale[:, None] * clean
    kept = target.square().sum(1)
    lost = (enhanced - target).square().sum(1)
    # of each energy is added to the other, which bends towards the limits
    share = 10.0 ** (-RATIO_LIMIT / 10.0)
    above = (kept + share * lost).clamp_min(POWER_FLOOR)
    below = (lost + share * kept).clamp_min(POWER_FLOOR)
    return 10.0 * (below.log10() - above.log10()).mean()


def snr(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return the negative SNR in dB, 10 lg(|x|^2 / |x^ - x|^2), at least -SNR_LIMIT; lower is
    better.

    Unlike SI-SDR and PESQ it depends on the level. Where the clean signal is silent it is the level
    of the enhanced one above -80 dBFS.
    """
    check_waveforms(clean, enhanced)
    kept = clean.square().sum(1)
    lost = (enhanced - clean).square().sum(1)
    share = 10.0 ** (-SNR_LIMIT / 10.0)
    floor = QUIETEST * clean.shape[1]
    return 10.0 * ((lost + share * kept + floor) / (kept + floor)).log10().mean()


def rms(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Return the root mean square error, Eq. 71; at least 0. The gradient at zero error is zero."""
    check_waveforms(clean, enhanced)
    return torch.linalg.vector_norm(enhanced - clean, dim=1).mean() / clean.shape[1] ** 0.5
