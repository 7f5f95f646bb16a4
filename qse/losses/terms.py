"""The table of the terms of a loss: which function, of which signals, with which options.

Every function is `loss(*, clean, enhanced) -> scalar tensor`: waveforms (B, N), floating point,
full scale +-1, on any device; the mean over the batch of one value per item, so that an item counts
the same in every batch. It may also take `noisy` (B, N), `sample_rate` in Hz, and, of "scaled"
signals, `n_fft` and `hop_length` of a LossConfig. Values and gradients stay finite on digital
silence in either signal: powers are raised to `POWER_FLOOR` before a root, a logarithm or a
quotient. Shapes that differ, or that are not (B, N), raise ValueError.

B = batch, N = samples, F = bins, T = frames; x = clean waveform, S = its spec (Appendix D.2 of the
quaternion shared-score paper writes x, S for the clean and a hat for the enhanced ones).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Literal

from torch import Tensor

from .full_band import WIDE_BAND, high_band_snr
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

LossTerm = Callable[..., Tensor]


@dataclass(frozen=True)
class Term:
    """A term of a loss. function: None for the one that is handed over with the signals.

    of: the signals that the function gets. "full" are as they are; "scaled" have magnitudes as at
    16 kHz; "low" are the band below 8 kHz at 16 kHz, where the rate is a multiple of that; "specs"
    are those of a mask. decibels: divided by `si_sdr_unit`. above: skipped at sample rates up to
    this one, in Hz. least: samples that a segment needs, after "low"; "scaled" ones need half a
    window.
    """

    function: LossTerm | None
    of: Literal["full", "scaled", "low", "specs"] = "full"
    decibels: bool = False
    above: int = 0
    least: int = 1

    @cached_property
    def arguments(self) -> list[str]:
        """Return the names of the arguments that the function may take."""
        return list(signature(self.function).parameters) if self.function else ["clean", "enhanced"]


TERMS: dict[str, Term] = {
    "mrstft": Term(multi_resolution_stft, least=max(size for *_, size in RESOLUTIONS) // 2 + 1),
    "si_sdr": Term(si_sdr, decibels=True),
    "rms": Term(rms),
    "complex_l1": Term(complex_l1, "scaled"),
    "pesq": Term(pesq, "low", least=PESQ_FRAME // 2 + 1),
    "compressed": Term(compressed_spectrum, "scaled"),
    "snr": Term(snr, decibels=True),
    "stoi": Term(stoi, "low", least=6400),  # 0.4 s, its 30 frames
    "noise_floor": Term(noise_floor, "low", decibels=True, least=FRAME_LENGTH),
    "over_attenuation": Term(over_attenuation, "scaled"),
    "high_band": Term(high_band_snr, decibels=True, above=WIDE_BAND),
    "discriminator": Term(None, "low", least=4000),  # 0.25 s, the least that PESQ scores
}
OF_MASK = Term(spectrum_l1, "specs")  # complex_l1, where complex_l1_of is mask
