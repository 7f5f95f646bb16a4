"""Training losses, one file per family, and their weighted sum.

Every loss is `loss(*, clean, enhanced) -> scalar`, waveforms (B, N); lower is better. See
terms.py.

WeightedSum         the terms of a LossConfig and terms of one's own
"""

from ..extras import need

need("torch", "train")

from .full_band import high_band_snr
from .loss_config import LossConfig
from .pesq_loss import pesq, predicted_pesq
from .spectral import complex_l1, compressed_spectrum, multi_resolution_stft, spectrum_l1
from .stoi_loss import predicted_stoi, stoi
from .suppression import noise_floor, over_attenuation
from .waveform import rms, si_sdr, snr
from .weighted_sum import WeightedSum

__all__ = [
    "LossConfig",
    "WeightedSum",
    "complex_l1",
    "compressed_spectrum",
    "high_band_snr",
    "multi_resolution_stft",
    "noise_floor",
    "over_attenuation",
    "pesq",
    "predicted_pesq",
    "predicted_stoi",
    "rms",
    "si_sdr",
    "snr",
    "spectrum_l1",
    "stoi",
]
