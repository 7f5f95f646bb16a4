"""Configure the paper's offline networks: the `[model]` table of a recipe (see offline.py)."""

from dataclasses import dataclass

from qse.config import require_positive
from qse.references import find_named

from .axial_attention import ATTENTION


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
