"""Configure a loss: the weights of its terms and their options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from ..config import require_positive
from .terms import TERMS


@dataclass(frozen=True)
class LossConfig:
    """Weights of the terms of a `WeightedSum`, by their names in TERMS (0 leaves a term out), and
    the STFT of the spectral ones.

    The default weights are those of Eq. 70. The paper's recipes count SI-SDR in dB, as Li et al.
    2020 do; its gradient is then as strong as that of all other terms together, or stronger.
    own: weights of terms of one's own, by "package.module:function". `si_sdr_unit`: how many dB
    count as 1 in si_sdr, snr, noise_floor and high_band. `n_fft` and `hop_length` are those at 16
    kHz; at other sample rates they have the same duration. complex_l1_of: "waveform" compares STFTs
    of the waveforms; "mask" compares the spec that the mask of an offline network returns (Eqs.
    68-69) with the clean spec by the network's own STFT, as Eq. 72 does.
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
    complex_l1_of: Literal["waveform", "mask"] = "waveform"
    high_band: float = 0.0  # SNR above 8 kHz, of segments at a higher rate than 16 kHz
    # of a network that learns to predict WB-PESQ, trained beside (MetricGAN)
    discriminator: float = 0.0
    si_sdr_unit: float = 10.0
    n_fft: int = 512
    hop_length: int = 128
    own: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.own, Mapping):
            form = '{"package.module:function" = 1.0}'
            raise ValueError(f"own = {self.own!r}: write terms of your own with weights, as {form}")
        weights = {name: getattr(self, name) for name in TERMS}
        for name, weight in (weights | dict(self.own)).items():
            if isinstance(weight, str | bool) or not 0 <= weight < inf:
                raise ValueError(f"{name} {weight}: a weight is 0 or more, and finite")
        if not any(weights.values()) and not any(self.own.values()):
            raise ValueError("all weights are 0: there is no loss to train with.")
        if self.complex_l1_of not in ("waveform", "mask"):
            raise ValueError(f"complex_l1_of {self.complex_l1_of!r}: choose waveform or mask")
        require_positive(self, "si_sdr_unit", "n_fft", "hop_length")
