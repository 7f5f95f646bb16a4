"""Room: losses. How far the enhanced waveform is from the clean one, as numbers that can be differentiated.

B = batch, N = samples, F = bins, T = frames; x = clean waveform, S = its spec (Appendix D.2 of the quaternion
shared-score paper writes x, S for the clean and a hat for the enhanced ones).

Every loss is `loss(*, clean, enhanced) -> scalar tensor`: waveforms (B, N), floating point, full scale +-1, on any
device; the mean over the batch of one value per item, so that it does not matter with whom an item shares a batch.
Values and gradients stay finite on digital silence in either signal: powers are raised to `POWER_FLOOR` before a
root, a logarithm or a quotient. Shapes that differ, or that are not (B, N), raise ValueError.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..config import require_positive
from .pesq import pesq
from .stft import POWER_FLOOR, QUIETEST, check_waveforms, floored, power_spectrum, stft
from .stoi import stoi

CONVERGENCE_FLOOR = 1e-2  # mean |S|^2 of white noise at about -40 dBFS: a quieter clean signal counts as this loud
RATIO_LIMIT = 50.0  # dB; si_sdr saturates smoothly at + and - this
SNR_LIMIT = 30.0  # dB; snr saturates smoothly here, or nearly clean items would have the loudest say in a batch
RESOLUTIONS = ((512, 50, 240), (1024, 120, 600), (2048, 240, 1200))  # (n_fft, hop_length, win_length)


@dataclass(frozen=True)
class LossConfig:
    """Weights of the terms of `composite` (0 leaves a term out) and the STFT of the spectral ones.

    The default weights are those of Eq. 70. `si_sdr_unit`: how many dB count as 1 in the terms si_sdr and snr.
    """

    mrstft: float = 3.5
    si_sdr: float = 2.0
    rms: float = 1.0
    complex_l1: float = 2.5
    pesq: float = 1.0
    compressed: float = 0.0
    snr: float = 0.0
    stoi: float = 0.0
    si_sdr_unit: float = 10.0
    n_fft: int = 512
    hop_length: int = 128

    def __post_init__(self) -> None:
        weights = [self.mrstft, self.si_sdr, self.rms, self.complex_l1, self.pesq, self.compressed, self.snr, self.stoi]
        if not any(weights):
            raise ValueError("all weights are 0: there is nothing to learn.")
        require_positive(self, "si_sdr_unit", "n_fft", "hop_length")


def multi_resolution_stft(
    *, clean: Tensor, enhanced: Tensor, resolutions: tuple[tuple[int, int, int], ...] = RESOLUTIONS
) -> Tensor:
    """Spectral convergence plus L1 of the log magnitudes, mean over the resolutions; at least 0.

    Yamamoto, Song, Kim 2020 (Parallel WaveGAN): || |S| - |S^| ||_F / || |S| ||_F and the mean of
    |ln|S| - ln|S^||. FFT sizes 512, 1024, 2048 with that paper's hops 50, 120, 240 and Hann windows 240, 600, 1200,
    in samples as printed there for 24 kHz; at 16 kHz they last 15, 37.5 and 75 ms. The norm of a clean
    item is at least that of CONVERGENCE_FLOOR, so that a pause does not outweigh the rest of the batch.
    """
    check_waveforms(clean, enhanced)
    total = clean.new_zeros(())
    for n_fft, hop_length, win_length in resolutions:
        target = floored(power_spectrum(clean, n_fft, hop_length, win_length)).flatten(1)  # |S|^2, (B, T*F)
        guess = floored(power_spectrum(enhanced, n_fft, hop_length, win_length)).flatten(1)
        norm = target.mean(1).clamp_min(CONVERGENCE_FLOOR).mul(target.shape[1]).sqrt()  # (B,)
        convergence = torch.linalg.vector_norm(target.sqrt() - guess.sqrt(), dim=1) / norm
        total = total + convergence.mean() + 0.5 * (target.log() - guess.log()).abs().mean()
    return total / len(resolutions)


def si_sdr(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Negative SI-SDR in dB, within +-RATIO_LIMIT; lower is better, blind to the level of either signal.

    Le Roux et al. 2019 and Li et al. 2020: target = <x^, x> x / |x|^2, SI-SDR = 10 lg(|target|^2 /
    |x^ - target|^2), no mean removed.
    """
    check_waveforms(clean, enhanced)
    scale = (clean * enhanced).sum(1) / clean.square().sum(1).clamp_min(POWER_FLOOR)  # (B,)
    target = scale[:, None] * clean
    kept, lost = target.square().sum(1), (enhanced - target).square().sum(1)
    share = 10.0 ** (-RATIO_LIMIT / 10.0)  # of each energy is added to the other, which bends towards the limits
    above, below = (kept + share * lost).clamp_min(POWER_FLOOR), (lost + share * kept).clamp_min(POWER_FLOOR)
    return 10.0 * (below.log10() - above.log10()).mean()


def snr(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Negative SNR in dB, 10 lg(|x|^2 / |x^ - x|^2), at least -SNR_LIMIT; lower is better.

    Unlike SI-SDR and PESQ it minds the level, and where the clean signal is silent it asks for silence: it is then the
    level of the enhanced one above -80 dBFS.
    """
    check_waveforms(clean, enhanced)
    kept, lost = clean.square().sum(1), (enhanced - clean).square().sum(1)
    share, floor = 10.0 ** (-SNR_LIMIT / 10.0), QUIETEST * clean.shape[1]
    return 10.0 * ((lost + share * kept + floor) / (kept + floor)).log10().mean()


def rms(*, clean: Tensor, enhanced: Tensor) -> Tensor:
    """Root mean square error of the waveforms, Eq. 71; at least 0. The gradient at zero error is zero."""
    check_waveforms(clean, enhanced)
    return torch.linalg.vector_norm(enhanced - clean, dim=1).mean() / clean.shape[1] ** 0.5


def complex_l1(*, clean: Tensor, enhanced: Tensor, n_fft: int = 512, hop_length: int = 128) -> Tensor:
    """L1 error of the real plus that of the imaginary part of the spec, Eq. 72, as mean over the bins; at least 0."""
    check_waveforms(clean, enhanced)
    error = stft(enhanced - clean, n_fft, hop_length)  # the STFT is linear: one instead of two
    return error.real.abs().mean() + error.imag.abs().mean()


def compressed_spectrum(
    *,
    clean: Tensor,
    enhanced: Tensor,
    n_fft: int = 512,
    hop_length: int = 128,
    exponent: float = 0.3,
    complex_share: float = 0.3,
) -> Tensor:
    """Squared error of power-compressed specs, part complex and part magnitude; at least 0.

    Braun & Tashev 2021 (A consolidated view of loss functions for supervised deep learning-based speech
    enhancement), without its level normalisation: complex_share * |S|S|^(c-1) - S^|S^|^(c-1)|^2
    + (1 - complex_share) * (|S|^c - |S^|^c)^2 with c = `exponent`, mean over the bins.
    """
    check_waveforms(clean, enhanced)
    spec, guess = stft(clean, n_fft, hop_length), stft(enhanced, n_fft, hop_length)
    mag, guess_mag = _magnitude(spec), _magnitude(guess)
    difference = torch.view_as_real(spec * mag.pow(exponent - 1) - guess * guess_mag.pow(exponent - 1))
    complex_error = difference.square().sum(-1).mean()
    magnitude_error = (mag.pow(exponent) - guess_mag.pow(exponent)).square().mean()
    return complex_share * complex_error + (1 - complex_share) * magnitude_error


def composite(config: LossConfig, *, clean: Tensor, enhanced: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """The weighted sum of Eq. 70 and its terms before weighting, {name: detached scalar}; weight 0 is not computed.

    The paper's recipes count SI-SDR in dB, as Li et al. 2020 do; its pull towards the clean signal is then as strong
    as that of all other terms together, or stronger. Computed in the precision of `clean`, also under autocast.
    """
    signals: dict[str, Any] = {"clean": clean, "enhanced": enhanced.to(clean.dtype)}
    spectral: dict[str, Any] = {"n_fft": config.n_fft, "hop_length": config.hop_length}
    terms = {
        "mrstft": lambda: multi_resolution_stft(**signals),
        "si_sdr": lambda: si_sdr(**signals) / config.si_sdr_unit,
        "rms": lambda: rms(**signals),
        "complex_l1": lambda: complex_l1(**signals, **spectral),
        "pesq": lambda: pesq(**signals),
        "compressed": lambda: compressed_spectrum(**signals, **spectral),
        "snr": lambda: snr(**signals) / config.si_sdr_unit,
        "stoi": lambda: stoi(**signals),
    }
    with torch.autocast(clean.device.type, enabled=False):
        values = {name: term() for name, term in terms.items() if getattr(config, name) != 0}
        total = sum((getattr(config, name) * value for name, value in values.items()), start=clean.new_zeros(()))
    return total, {name: value.detach() for name, value in values.items()}


def _magnitude(spec: Tensor) -> Tensor:
    return floored(spec.real.square() + spec.imag.square()).sqrt()
