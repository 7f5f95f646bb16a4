"""Build the paper's quaternion networks, which process whole recordings
(main paper, section 4.2, Appendix D.1).

    audio -> STFT -> (0, |X|, Re X, Im X) -> encoder -> bottleneck -> decoder -> gain and angle
    -> inverse STFT -> audio

An offline network is a plain module from waveform to waveform; inside it, `core` maps spec to spec,
(B, 2, T, F). Choices that the paper leaves open are listed in
docs/papers/shared-score-attention.md.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ..config import require_positive
from ..nn.centred_stft import CentredISTFT, CentredSTFT
from ..nn.conv import FrequencyUpsample
from ..nn.features import QuaternionFeatures
from ..nn.layout import channels_innermost, join, to_features, to_tokens
from ..nn.polar import PolarMask
from ..references import find_named
from .axial_attention import ATTENTION, FREQUENCY, TIME, AlongAxis, ConformerBlock, TransformerBlock
from .dilated_densenet import DilatedDense, Unit
from .network import Network


@dataclass(frozen=True)
class OfflineConfig:
    """Sizes of all offline networks: the paper's Table 12 and the STFT of its VoiceBank+DEMAND
    runs."""

    sample_rate: int = 16000
    n_fft: int = 400
    hop_length: int = 100
    encoder: tuple[int, ...] = (1, 2, 4)  # dilations, one dense layer each
    decoder: tuple[int, ...] = (8, 4, 2)
    layers: int = 2  # of the bottleneck; each is a block along time and one along frequency
    heads: int = 4
    kernel: int = 31  # of the Conformer's convolution
    dropout: float = 0.1

    def __post_init__(self) -> None:
        sizes = []
        for key, value in vars(self).items():
            if type(value) in (int, tuple) and key != "layers":
                sizes.append(key)
        require_positive(self, *sizes)
        if not 0 <= self.layers <= 1000:
            raise ValueError(f"layers {self.layers}: 0 to 1000")
        if not (self.encoder and self.decoder):
            raise ValueError("encoder and decoder: at least one dilation each")
        if not self.kernel % 2:
            raise ValueError(
                f"kernel {self.kernel}: an odd number, for equal reach in both directions"
            )
        if self.n_fft % 2:
            raise ValueError(f"n_fft {self.n_fft}: an even number")
        if self.n_fft % self.hop_length or self.n_fft == self.hop_length:
            raise ValueError(
                f"hop_length {self.hop_length}: must divide n_fft {self.n_fft} into at least two"
            )


@dataclass(frozen=True)
class QuaternionConformerConfig(OfflineConfig):
    """Sizes of qconformer.

    `channels`: growth rate and d_model in quaternions; 16 are 64 real channels.
    """

    channels: int = 16
    block: str = "conformer"  # or transformer, or none
    attention: str = "shared"  # or hamilton, convolution, or package.module:Class
    qk_norm: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block not in ("conformer", "transformer", "none"):
            raise ValueError(f"block {self.block!r}: choose conformer, transformer or none")
        find_named(self.attention, ATTENTION, "attention")


@dataclass(frozen=True)
class QuaternionConformerHamiltonConfig(QuaternionConformerConfig):
    """Sizes of qconformer-hamilton: Hamilton attention."""

    attention: str = "hamilton"


@dataclass(frozen=True)
class QuaternionTransformerConfig(QuaternionConformerConfig):
    """Sizes of qtransformer: Transformer blocks in place of Conformer blocks."""

    block: str = "transformer"


@dataclass(frozen=True)
class QuaternionTransformerHamiltonConfig(QuaternionTransformerConfig):
    """Sizes of qtransformer-hamilton: Transformer blocks with Hamilton attention."""

    attention: str = "hamilton"


@dataclass(frozen=True)
class QuaternionTransformerConvolutionConfig(QuaternionTransformerConfig):
    """Sizes of qtn: Transformer blocks with convolution attention."""

    attention: str = "convolution"


@dataclass(frozen=True)
class QuaternionDenseConfig(QuaternionConformerConfig):
    """Sizes of qdensenet: no bottleneck, one dense layer more in the encoder and in the decoder."""

    block: str = "none"
    encoder: tuple[int, ...] = (1, 2, 4, 8)
    decoder: tuple[int, ...] = (8, 4, 2, 1)


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
    """Enhance with one of the paper's quaternion networks, built from its config."""

    def __init__(self, config: QuaternionConformerConfig):
        super().__init__(config, QuaternionCore(config))


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
