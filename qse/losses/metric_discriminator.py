"""Predict WB-PESQ of enhanced speech by a small network, as a loss that can be differentiated.

Fu et al. 2019 (MetricGAN), here on both magnitudes as in Cao, Abdulatif, Yang 2022 (CMGAN).
train/discriminator_training.py trains it beside the network that enhances.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from .stft import QUIETEST, check_waveforms, floored, power_spectrum

N_FFT = 512
HOP_LENGTH = 256
CHANNELS = (2, 8, 16, 32, 64)
EXPONENT = 0.3  # of the magnitudes
WORST = 1.0  # WB-PESQ that counts as 0
BEST = 4.64  # WB-PESQ of the clean signal itself, which counts as 1


class MetricDiscriminator(nn.Module):
    """Predict the quality of (B, N) at 16 kHz, N > 256: (B,), 0 for WB-PESQ 1, 1 for the best.

    Four convolutions of stride 2 read the compressed magnitudes of the clean and the enhanced
    signal, at the level at which the clean one has a mean square of 1.
    """

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(CHANNELS):
            convolution = nn.Conv2d(inputs, outputs, 4, stride=2, padding=2)
            layers += [spectral_norm(convolution), nn.LeakyReLU(0.2)]
        self.features = nn.Sequential(*layers)
        self.score = nn.Linear(CHANNELS[-1], 1)

    def forward(self, clean: Tensor, enhanced: Tensor) -> Tensor:
        check_waveforms(clean, enhanced)
        level = clean.square().mean(1, keepdim=True).clamp_min(QUIETEST).sqrt()
        magnitudes = [_compressed(clean / level), _compressed(enhanced / level)]
        features = self.features(torch.stack(magnitudes, 1))  # (B, channels, T, F)
        return self.score(features.mean((2, 3)))[:, 0]


def distance_from_best(
    discriminator: MetricDiscriminator, *, clean: Tensor, enhanced: Tensor
) -> Tensor:
    """Return the squared distance of the predicted quality from 1, mean over the batch.

    An item whose clean signal is silent counts as 0: it has no PESQ.
    """
    predicted = discriminator(clean, enhanced)
    heard = clean.square().mean(1) > QUIETEST
    return ((1 - predicted).square() * heard).mean()


def quality(wb_pesq: Tensor) -> Tensor:
    """Return WB-PESQ as the quality that a discriminator predicts."""
    return (wb_pesq - WORST) / (BEST - WORST)


def _compressed(x: Tensor) -> Tensor:
    """Return the magnitudes of (B, N) to the power EXPONENT, (B, T, F)."""
    return floored(power_spectrum(x, N_FFT, HOP_LENGTH)).pow(EXPONENT / 2)
