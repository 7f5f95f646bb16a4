"""Build the paper's quaternion networks, which process whole recordings
(main paper, section 4.2, Appendix D.1).

    audio -> STFT -> (0, |X|, Re X, Im X) -> encoder -> bottleneck -> decoder -> gain and angle
    -> inverse STFT -> audio

An offline network is a plain module from waveform to waveform; inside it, `core` maps spec to spec,
(B, 2, T, F). Choices that the paper leaves open are listed in
docs/papers/shared-score-attention.md.
"""

from typing import Any

from torch import Tensor, nn

from qse.export.real_form import adapt, interleave, with_real_children
from qse.networks.network import Network
from qse.nn.conv import FrequencyUpsample
from qse.nn.features import QuaternionFeatures
from qse.nn.layout import channels_innermost, join, to_features, to_tokens
from qse.references import find_named

from ..nn.centred_stft import CentredISTFT, CentredSTFT
from ..nn.polar import PolarMask
from .axial_attention import ATTENTION, FREQUENCY, TIME, AlongAxis, ConformerBlock, TransformerBlock
from .dilated_densenet import DilatedDense, Unit
from .offline_config import (
    OfflineConfig,
    QuaternionConformerConfig,
    QuaternionConformerHamiltonConfig,
    QuaternionDenseConfig,
    QuaternionTransformerConfig,
    QuaternionTransformerConvolutionConfig,
    QuaternionTransformerHamiltonConfig,
)


class Offline(Network):
    """Enhance whole signals: (B, N) samples -> (B, N), aligned; `core` maps spec to spec,
    (B, 2, T, F)."""

    has_spec = True

    def __init__(self, config: OfflineConfig, core: nn.Module):
        super().__init__()
        self.config = config
        self.core = core
        self.analysis = CentredSTFT(config.n_fft, config.hop_length)
        self.synthesis = CentredISTFT(config.n_fft, config.hop_length)

    def forward(self, audio: Tensor) -> Tensor:
        return self.with_spec(audio)[0]

    def with_spec(self, audio: Tensor) -> tuple[Tensor, Tensor]:
        """Return the enhanced samples and the spec that they are synthesised from, the mask's
        output."""
        spec = self.core(self.analysis(audio))
        return self.synthesis(spec, audio.shape[1]), spec

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the part from spec to spec, which both methods call."""
        self.core.compile(*args, **kwargs)

    def enhance(self, noisy: Tensor) -> Tensor:
        """Enhance whole signals (B, N) -> (B, N)."""
        return self(noisy)


class QuaternionOffline(Offline):
    """Enhance with one of the paper's quaternion networks, built from its config: qconformer."""

    config_type = QuaternionConformerConfig

    def __init__(self, config: QuaternionConformerConfig):
        super().__init__(config, QuaternionCore(config))


class QuaternionConformerHamilton(QuaternionOffline):
    """qconformer-hamilton; as the classes below, it differs from its base in the defaults alone."""

    config_type = QuaternionConformerHamiltonConfig


class QuaternionTransformer(QuaternionOffline):
    config_type = QuaternionTransformerConfig


class QuaternionTransformerHamilton(QuaternionOffline):
    config_type = QuaternionTransformerHamiltonConfig


class QuaternionTransformerConvolution(QuaternionOffline):
    config_type = QuaternionTransformerConvolutionConfig


class QuaternionDense(QuaternionOffline):
    config_type = QuaternionDenseConfig


class QuaternionCore(nn.Module):
    """Enhance a spec: (B, 2, T, F) -> (B, 2, T, F)."""

    def __init__(self, config: QuaternionConformerConfig):
        super().__init__()
        self.features = QuaternionFeatures(power=1.0)
        self.encoder = OfflineEncoder(config)
        self.bottleneck = None if config.block == "none" else OfflineBottleneck(config)
        self.decoder = OfflineDecoder(config)
        self.mask = PolarMask()

    def forward(self, spec: Tensor) -> Tensor:
        x = channels_innermost(self.features(spec))  # B, 4, 1, T, F
        x = self.encoder(x)
        if self.bottleneck is not None:
            x = self.bottleneck(x)
        return self.mask(spec, self.decoder(x)[..., : spec.shape[3]])


class OfflineEncoder(nn.Sequential):
    """Encode features and halve the bins: (B, 4, 1, T, F) -> (B, 4, C, T, (F + 1) / 2), F odd."""

    def __init__(self, config: QuaternionConformerConfig):
        c = config.channels
        super().__init__(
            Unit(1, c, (3, 3)),
            DilatedDense(c, c, config.encoder, config.dropout, stride=2),
        )


class OfflineBottleneck(nn.Module):
    """Attend along time and frequency, and fuse the output with the input: (B, 4, C, T, F) ->
    (B, 4, C, T, F)."""

    def __init__(self, config: QuaternionConformerConfig):
        super().__init__()
        self.blocks = nn.Sequential()
        for _ in range(config.layers):
            self.blocks.append(AlongAxis(TIME, _block(config)))
            self.blocks.append(AlongAxis(FREQUENCY, _block(config)))
        self.fuse = Unit(2 * config.channels, config.channels, (1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.fuse(join([to_features(self.blocks(to_tokens(x))), x], -3))


class OfflineDecoder(nn.Module):
    """Decode features to the real numbers of the mask: (B, 4, C, T, F) -> (B, 2, T, 2 F)."""

    def __init__(self, config: QuaternionConformerConfig):
        super().__init__()
        c = config.channels
        self.dense = DilatedDense(c, c, config.decoder, config.dropout)
        self.up = FrequencyUpsample(c, c)
        self.out = real_output(4 * c)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.up(self.dense(x)).flatten(1, -3))


@adapt(OfflineDecoder)
def _real_decoder(decoder: OfflineDecoder) -> OfflineDecoder:
    """Let the output's first convolution read adjacent components, for export."""
    first = next(layer for layer in decoder.out if isinstance(layer, nn.Conv2d))
    first.weight = nn.Parameter(interleave(first.weight, 1))
    return with_real_children(decoder)


def real_output(channels: int) -> nn.Sequential:
    """Return two real convolutions (B, channels, T, F) -> (B, 2, T, F), initialised near the
    identity mask."""
    last = nn.Conv2d(channels, 2, 1)
    nn.init.normal_(last.weight, std=0.01)
    nn.init.zeros_(last.get_parameter("bias"))
    return nn.Sequential(nn.PReLU(), nn.Conv2d(channels, channels, 3, padding=1), nn.PReLU(), last)


def _block(config: QuaternionConformerConfig) -> nn.Module:
    kind = find_named(config.attention, ATTENTION, "attention")
    attention = kind(config.channels, config.heads, config.qk_norm)
    if config.block == "transformer":
        return TransformerBlock(config.channels, attention, config.dropout)
    return ConformerBlock(config.channels, attention, config.kernel, config.dropout)
