"""The Conformer as its authors' code computes it (Yamauchi et al. 2026, published code).

It differs from the paper's text, and from offline.py, in these points: all channels lie
on one axis, components first, and dense blocks concatenate there, so that later layers read other
channels as components; a head of the attention is a quarter of that axis, with four heads one
component (`attention = "published"`; "shared" is Eq. 10 with the same weights); the norm of queries
and keys takes the RMS of four neighbouring channels; batch norms have one variance; weights stand
left of the input, W (x) x; gain and angle are bounded by tanh; recordings are divided by their
peak.

Features are (B, C, T, F), tokens (N, L, C), C real channels. Modules have the names of the
published checkpoint. A recipe names the network "qse_papers.networks.published:Published".
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from qse.export.real_form import register

from ..nn.centred_stft import CentredISTFT, CentredSTFT
from .offline import Offline
from .offline_config import OfflineConfig
from .published_conformer import Conformer
from .published_layers import BatchNorm, Conv2d, Upsample

EPS = 1e-8  # added to the peak of a recording


@dataclass(frozen=True)
class PublishedConfig(OfflineConfig):
    """Sizes of the published checkpoint; channels are counted in reals.

    growth: of the dense blocks; features: in front of the mask. attention: published or shared.
    """

    channels: int = 64
    growth: int = 64
    features: int = 128
    attention: str = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attention not in ("published", "shared"):
            raise ValueError(f"attention {self.attention!r}: choose published or shared")
        for name in ("channels", "growth", "features"):
            if getattr(self, name) % 4:
                raise ValueError(f"{name} {getattr(self, name)}: must be a multiple of 4")
        if self.channels % (4 * self.heads):
            raise ValueError(f"{self.heads} heads do not divide {self.channels // 4} quaternions")


class DenseLayer(nn.Module):
    """Append what a gated, dilated convolution puts out: (B, C, T, F) -> (B, C + growth, T, F)."""

    def __init__(self, channels: int, growth: int, dilation: int, dropout: float):
        super().__init__()
        self.bottleneck = Conv2d(channels, 4 * growth, 1)
        self.bottleneck_norm = BatchNorm(4 * growth)
        self.bottleneck_activation = nn.PReLU()
        self.conv = Conv2d(4 * growth, growth, 3, dilation)
        self.gate_conv = Conv2d(4 * growth, growth, 3, dilation)
        self.norm = BatchNorm(growth)
        self.activation = nn.PReLU()
        self.dropout = nn.Dropout2d(dropout)

    def forward(self, x: Tensor) -> Tensor:
        y = self.bottleneck_activation(self.bottleneck_norm(self.bottleneck(x)))
        y = self.conv(y) * torch.sigmoid(self.gate_conv(y))
        return torch.cat([x, self.dropout(self.activation(self.norm(y)))], 1)


def dense_layers(
    channels: int, config: PublishedConfig, dilations: tuple[int, ...]
) -> tuple[nn.ModuleList, nn.ModuleList, int]:
    """Return dense layers, the transitions between them, and the channels of the output.

    A transition halves the channels.
    """
    layers = nn.ModuleList()
    transitions = nn.ModuleList()
    for number, dilation in enumerate(dilations):
        if number:
            half = channels // 8 * 4
            transitions.append(
                nn.Sequential(BatchNorm(channels), nn.PReLU(), Conv2d(channels, half, 1))
            )
            channels = half
        layers.append(DenseLayer(channels, config.growth, dilation, config.dropout))
        channels += config.growth
    return layers, transitions, channels


class Encoder(nn.Module):
    """Features (B, 4, T, F) -> (B, C, T, (F + 1) / 2), F odd."""

    def __init__(self, config: PublishedConfig):
        super().__init__()
        self.encoders, self.transitions, channels = dense_layers(4, config, config.encoder)
        self.downsample = Conv2d(channels, channels, 3, stride=2)
        self.downsample_norm = BatchNorm(channels)
        out = config.channels
        self.output_proj = nn.Sequential(Conv2d(channels, out, 1), BatchNorm(out), nn.PReLU())
        self.output_activation = nn.PReLU()

    def forward(self, x: Tensor) -> Tensor:
        x = _dense(x, self.encoders, self.transitions)
        x = self.downsample_norm(self.downsample(x))
        return self.output_activation(self.output_proj(x))


class Decoder(nn.Module):
    """(B, C, T, F) -> (B, C', T, 2 F - 1)."""

    def __init__(self, config: PublishedConfig):
        super().__init__()
        layers, transitions, channels = dense_layers(config.channels, config, config.decoder)
        self.decoders = layers
        self.transitions = transitions
        self.upsample = Upsample(channels)
        self.upsample_norm = BatchNorm(channels)
        self.channels = channels

    def forward(self, x: Tensor) -> Tensor:
        x = _dense(x, self.decoders, self.transitions)
        return self.upsample_norm(self.upsample(x))


def _dense(x: Tensor, layers: nn.ModuleList, transitions: nn.ModuleList) -> Tensor:
    for number, layer in enumerate(layers):
        if number:
            x = transitions[number - 1](x)
        x = layer(x)
    return x


class Core(nn.Module):
    """Enhance a spec: (B, 2, T, F) -> (B, 2, T, F)."""

    def __init__(self, config: PublishedConfig):
        super().__init__()
        size = config.channels
        self.encoder = Encoder(config)
        self.bottleneck = Conformer(
            size,
            heads=config.heads,
            layers=config.layers,
            kernel=config.kernel,
            dropout=config.dropout,
            attention=config.attention,
        )
        fuse = Conv2d(2 * size, size, 1)
        self.bottleneck_skip_fusion = nn.Sequential(fuse, BatchNorm(size), nn.PReLU())
        self.decoder = Decoder(config)
        features = Conv2d(self.decoder.channels, config.features, 3)
        self.output_proj_quaternion = nn.Sequential(features, nn.PReLU())
        self.output_proj_complex = nn.Conv2d(config.features, 2, 1)
        self.mask_layer = nn.Sequential(nn.Conv2d(2, 2, 1), nn.Tanh())

    def forward(self, spec: Tensor) -> Tensor:
        magnitude = spec.square().sum(1, keepdim=True).clamp_min(1e-12).sqrt()
        x = self.encoder(torch.cat([torch.zeros_like(magnitude), magnitude, spec], 1))
        x = self.bottleneck_skip_fusion(torch.cat([self.bottleneck(x), x], 1))
        x = self.output_proj_quaternion(self.decoder(x))
        gain, angle = self.mask_layer(self.output_proj_complex(x)).unbind(1)
        re = gain * torch.cos(math.pi * angle)
        im = gain * torch.sin(math.pi * angle)
        x, y = spec.unbind(1)
        return torch.stack([x * re - y * im, x * im + y * re], 1)


class Analysis(nn.Module):
    """(B, N) -> spec (B, 2, T, F), centred frames of a Hann window, the ends mirrored."""

    window: Tensor

    def __init__(self, n_fft: int, hop_length: int):
        super().__init__()
        self.hop_length = hop_length
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)

    def forward(self, audio: Tensor) -> Tensor:
        size = len(self.window)
        spec = torch.stft(audio, size, self.hop_length, window=self.window, return_complex=True)
        return torch.view_as_real(spec).permute(0, 3, 2, 1)


@register(Analysis)
def _stft_by_convolutions(analysis: Analysis) -> CentredSTFT:
    """Return the same by convolutions, for export."""
    return CentredSTFT(len(analysis.window), analysis.hop_length, mirrored=True)


class Synthesis(nn.Module):
    """Spec (B, 2, T, F) -> (B, samples)."""

    window: Tensor

    def __init__(self, n_fft: int, hop_length: int):
        super().__init__()
        self.hop_length = hop_length
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)

    def forward(self, spec: Tensor, samples: int) -> Tensor:
        size = len(self.window)
        bins = torch.complex(*spec.transpose(2, 3).unbind(1))
        return torch.istft(bins, size, self.hop_length, window=self.window, length=samples)


@register(Synthesis)
def _istft_by_convolutions(synthesis: Synthesis) -> CentredISTFT:
    """Return the same by convolutions, for export."""
    return CentredISTFT(len(synthesis.window), synthesis.hop_length)


class Published(Offline):
    """Enhance whole signals (B, N) -> (B, N), N above half a window."""

    config_type = PublishedConfig

    def __init__(self, config: PublishedConfig):
        super().__init__(config, Core(config))
        self.analysis = Analysis(config.n_fft, config.hop_length)  # type: ignore[assignment]
        self.synthesis = Synthesis(config.n_fft, config.hop_length)  # type: ignore[assignment]

    def with_spec(self, audio: Tensor) -> tuple[Tensor, Tensor]:
        """Return the enhanced samples and the spec that they are synthesised from."""
        peak = audio.abs().amax(1, keepdim=True) + EPS
        spec = self.core(self.analysis(audio / peak)) * peak[:, :, None, None]
        return self.synthesis(spec, audio.shape[1]), spec
