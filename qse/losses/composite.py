"""Combine losses: differentiable distances between the enhanced and the clean waveform, and their
weighted sum.

B = batch, N = samples, F = bins, T = frames; x = clean waveform, S = its spec (Appendix D.2 of the
quaternion shared-score paper writes x, S for the clean and a hat for the enhanced ones).

Every loss is `loss(*, clean, enhanced) -> scalar tensor`: waveforms (B, N), floating point, full
scale +-1, on any device; the mean over the batch of one value per item, so that an item counts the
same in every batch. `noise_floor` also takes the noisy waveform. Values and gradients stay finite
on digital silence in either signal: powers are raised to `POWER_FLOOR` before a root, a logarithm
or a quotient. Shapes that differ, or that are not (B, N), raise ValueError.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch import Tensor

from ..config import require_positive
from .full_band import WIDE_BAND, high_band_snr, to_wide_band
from .pesq_loss import N_FFT as PESQ_FRAME
from .pesq_loss import pesq
from .spectral import (
    RESOLUTIONS,
    complex_l1,
    compressed_spectrum,
    multi_resolution_stft,
    spectrum_l1,
)
from .stoi_loss import stoi
from .suppression import FRAME_LENGTH, noise_floor, over_attenuation
from .waveform import rms, si_sdr, snr

TERMS = (
    "mrstft",
    "si_sdr",
    "rms",
    "complex_l1",
    "pesq",
    "compressed",
    "snr",
    "stoi",
    "noise_floor",
    "over_attenuation",
    "high_band",
    "discriminator",
)


@dataclass(frozen=True)
class LossConfig:
    """Weights of the terms of `composite` (0 leaves a term out) and the STFT of the spectral ones.

    The default weights are those of Eq. 70. `si_sdr_unit`: how many dB count as 1 in si_sdr, snr,
    noise_floor and high_band. `n_fft` and `hop_length` are those at 16 kHz; at other sample rates
    they have the same duration. complex_l1_of: "waveform" compares STFTs of the waveforms; "mask"
    compares the spec that the mask of an offline network returns (Eqs. 68-69) with the clean spec
    by the network's own STFT, as Eq. 72 does.
    """

    mrstft: float = 3.5
    si_sdr: float = 2.0
    rms: float = 1.0
    complex_l1: float = 2.5
    pesq: float = 1.0
    compressed: float = 0.0
    snr: float = 0.0
    stoi: float = 0.0
    noise_floor: float = 0.0
    over_attenuation: float = 0.0
    complex_l1_of: str = "waveform"  # or mask
    high_band: float = 0.0  # SNR above 8 kHz, of segments at a higher rate than 16 kHz
    # of a network that learns to predict WB-PESQ, trained beside (MetricGAN)
    discriminator: float = 0.0
    si_sdr_unit: float = 10.0
    n_fft: int = 512
    hop_length: int = 128

    def __post_init__(self) -> None:
        for name in TERMS:
            weight = getattr(self, name)
            if not 0 <= weight < inf:
                raise ValueError(f"{name} {weight}: a weight is 0 or more, and finite")
        if not any(getattr(self, name) for name in TERMS):
            raise ValueError("all weights are 0: there is no loss to train with.")
        if self.complex_l1_of not in ("waveform", "mask"):
            raise ValueError(f"complex_l1_of {self.complex_l1_of!r}: choose waveform or mask")
        require_positive(self, "si_sdr_unit", "n_fft", "hop_length")

    @property
    def needs_specs(self) -> bool:
        """True if `composite` needs the specs of an offline network."""
        return self.complex_l1_of == "mask" and self.complex_l1 != 0


def composite(
    config: LossConfig,
    *,
    clean: Tensor,
    enhanced: Tensor,
    noisy: Tensor | None = None,
    sample_rate: int = WIDE_BAND,
    specs: tuple[Tensor, Tensor] | None = None,
    discriminator: Callable[..., Tensor] | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the weighted sum of Eq. 70 and its terms before weighting, {name: detached scalar}.

    A term of weight 0 is not computed. noise_floor needs `noisy`; complex_l1 of the mask needs
    `specs`, the clean and the enhanced one, (B, 2, T, F); discriminator needs a loss of that name,
    which is trained as well. The paper's recipes count SI-SDR in dB, as Li et al. 2020 do; its
    gradient is then as strong as that of all other terms together, or stronger. Computed in the
    precision of `clean`, also under autocast. At a `sample_rate` other than 16 kHz, magnitudes are
    scaled to those at 16 kHz; at a multiple of it, pesq, stoi, noise_floor and discriminator
    compare the band below 8 kHz.
    """
    # a window of the same duration sums this many times as many samples
    ratio = sample_rate / WIDE_BAND
    signals: dict[str, Any] = {"clean": clean, "enhanced": enhanced.to(clean.dtype)}
    low = {name: _below_8_khz(x, sample_rate) for name, x in signals.items()}
    scaled = {name: x / ratio for name, x in signals.items()} if ratio != 1 else signals
    spectral: dict[str, Any] = {
        "n_fft": round(ratio * config.n_fft),
        "hop_length": round(ratio * config.hop_length),
    }
    terms = {
        "mrstft": lambda: multi_resolution_stft(**signals),
        "si_sdr": lambda: si_sdr(**signals) / config.si_sdr_unit,
        "rms": lambda: rms(**signals),
        "complex_l1": lambda: _complex_l1(config, specs, scaled | spectral),
        "pesq": lambda: pesq(**low),
        "compressed": lambda: compressed_spectrum(**scaled, **spectral),
        "snr": lambda: snr(**signals) / config.si_sdr_unit,
        "stoi": lambda: stoi(**low),
        "noise_floor": lambda: _noise_floor(noisy, sample_rate, low) / config.si_sdr_unit,
        "over_attenuation": lambda: over_attenuation(**scaled, **spectral),
        "high_band": lambda: high_band_snr(**signals, sample_rate=sample_rate) / config.si_sdr_unit,
        "discriminator": lambda: _discriminated(discriminator, low),
    }
    total = clean.new_zeros(())
    values = {}
    with torch.autocast(clean.device.type, enabled=False):
        for name in TERMS:
            weight = getattr(config, name)
            if weight == 0 or (name == "high_band" and ratio <= 1):
                continue
            value = terms[name]()
            total = total + weight * value
            values[name] = value.detach()
    return total, values


def least_samples(config: LossConfig, sample_rate: int = WIDE_BAND) -> int:
    """Return how many samples a segment needs: whole frames of every term; of stoi 0.4 s, its 30
    frames; of discriminator 0.25 s, the least that PESQ scores."""
    ratio = sample_rate / WIDE_BAND
    own_stft = round(ratio * config.n_fft) // 2 + 1  # the ends are reflected by half a window
    at_16_khz = max(1, sample_rate // WIDE_BAND)
    least = {
        "mrstft": max(win_length for *_, win_length in RESOLUTIONS) // 2 + 1,
        "complex_l1": 1 if config.needs_specs else own_stft,
        "compressed": own_stft,
        "over_attenuation": own_stft,
        "pesq": at_16_khz * (PESQ_FRAME // 2 + 1),
        "stoi": round(0.4 * sample_rate),
        "noise_floor": at_16_khz * FRAME_LENGTH,
        "discriminator": round(0.25 * sample_rate),
    }
    used = [name for name in TERMS if getattr(config, name)]
    return max(least.get(name, at_16_khz) for name in used)


def _complex_l1(
    config: LossConfig, specs: tuple[Tensor, Tensor] | None, waveforms: dict[str, Any]
) -> Tensor:
    if not config.needs_specs:
        return complex_l1(**waveforms)
    if specs is None:
        raise ValueError("complex_l1_of mask needs the specs of an offline network")
    clean, enhanced = specs
    return spectrum_l1(clean=clean, enhanced=enhanced.to(clean.dtype))


def _below_8_khz(x: Tensor, sample_rate: int) -> Tensor:
    return to_wide_band(x, sample_rate) if sample_rate >= 2 * WIDE_BAND else x


def _noise_floor(noisy: Tensor | None, sample_rate: int, low: dict[str, Tensor]) -> Tensor:
    if noisy is None:
        raise ValueError("the term noise_floor needs the noisy signal")
    return noise_floor(**low, noisy=_below_8_khz(noisy, sample_rate))


def _discriminated(discriminator: Callable[..., Tensor] | None, low: dict[str, Tensor]) -> Tensor:
    if discriminator is None:
        raise ValueError("the term discriminator needs the loss of one that is trained as well")
    return discriminator(**low)
