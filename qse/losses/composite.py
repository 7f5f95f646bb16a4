"""Combine losses: differentiable distances between the enhanced and the clean waveform, and their weighted sum.

B = batch, N = samples, F = bins, T = frames; x = clean waveform, S = its spec (Appendix D.2 of the quaternion
shared-score paper writes x, S for the clean and a hat for the enhanced ones).

Every loss is `loss(*, clean, enhanced) -> scalar tensor`: waveforms (B, N), floating point, full scale +-1, on any
device; the mean over the batch of one value per item, so that an item counts the same in every batch. `noise_floor`
also takes the noisy waveform. Values and gradients stay finite on digital silence in either signal: powers are raised
to `POWER_FLOOR` before a root, a logarithm or a quotient. Shapes that differ, or that are not (B, N), raise ValueError.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..config import require_positive
from .pesq import pesq
from .spectral import complex_l1, compressed_spectrum, multi_resolution_stft
from .stoi import stoi
from .suppression import noise_floor, over_attenuation
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
)


@dataclass(frozen=True)
class LossConfig:
    """Weights of the terms of `composite` (0 leaves a term out) and the STFT of the spectral ones.

    The default weights are those of Eq. 70. `si_sdr_unit`: how many dB count as 1 in si_sdr, snr and noise_floor.
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
    si_sdr_unit: float = 10.0
    n_fft: int = 512
    hop_length: int = 128

    def __post_init__(self) -> None:
        if not any(getattr(self, name) for name in TERMS):
            raise ValueError("all weights are 0: there is no loss to train with.")
        require_positive(self, "si_sdr_unit", "n_fft", "hop_length")


def composite(
    config: LossConfig, *, clean: Tensor, enhanced: Tensor, noisy: Tensor | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the weighted sum of Eq. 70 and its terms before weighting, {name: detached scalar}.

    A term of weight 0 is not computed; noise_floor needs `noisy`. The paper's recipes count SI-SDR in dB, as Li et al.
    2020 do; its gradient is then as strong as that of all other terms together, or stronger. Computed in the precision
    of `clean`, also under autocast.
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
        "noise_floor": lambda: noise_floor(**signals, noisy=_required(noisy)) / config.si_sdr_unit,
        "over_attenuation": lambda: over_attenuation(**signals, **spectral),
    }
    with torch.autocast(clean.device.type, enabled=False):
        values = {name: terms[name]() for name in TERMS if getattr(config, name) != 0}
        total = sum((getattr(config, name) * value for name, value in values.items()), start=clean.new_zeros(()))
    return total, {name: value.detach() for name, value in values.items()}


def _required(noisy: Tensor | None) -> Tensor:
    if noisy is None:
        raise ValueError("the term noise_floor needs the noisy signal")
    return noisy
