"""Build the paper's real-valued Conformer, the baseline of its quaternion networks
(main paper, Tables 2, 3, 12).

The same architecture in real numbers: (|X|, Re X, Im X) are three channels, features (B, C, T, F),
tokens (B, T, F, C), four dense layers in encoder and decoder, and the Conformer's own depthwise
convolution (Gulati et al. 2020).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.nn.attention import attend

from ..nn.polar import PolarMask
from .axial_attention import FREQUENCY, TIME, AlongAxis
from .dilated_densenet import DilatedDense
from .offline import Offline, real_output
from .offline_config import OfflineConfig


@dataclass(frozen=True)
class ConformerConfig(OfflineConfig):
    """Sizes of the real-valued Conformer. `channels`: growth rate and d_model in real channels."""

    channels: int = 64
    encoder: tuple[int, ...] = (1, 2, 4, 8)
    decoder: tuple[int, ...] = (8, 4, 2, 1)


class RealOffline(Offline):
    """Enhance whole signals (B, N) -> (B, N) with the real-valued Conformer."""

    config_type = ConformerConfig

    def __init__(self, config: ConformerConfig):
        super().__init__(config, RealCore(config))


class RealCore(nn.Module):
    """Enhance a spec: (B, 2, T, F) -> (B, 2, T, F)."""

    def __init__(self, config: ConformerConfig):
        super().__init__()
        c = config.channels
        self.encoder = nn.Sequential(
            _unit(3, c, 3),
            DilatedDense(c, c, config.encoder, config.dropout, stride=2, layer=GatedLayer),
        )
        self.blocks = nn.Sequential()
        for _ in range(config.layers):
            self.blocks.append(AlongAxis(TIME, Block(config)))
            self.blocks.append(AlongAxis(FREQUENCY, Block(config)))
        self.fuse = _unit(2 * c, c, 1)
        self.dense = DilatedDense(c, c, config.decoder, config.dropout, layer=GatedLayer)
        self.up = nn.Conv2d(c, 2 * c, (1, 3), padding=(0, 1))
        self.out = real_output(c)
        self.mask = PolarMask()

    def forward(self, spec: Tensor) -> Tensor:
        mag = spec.square().sum(1, keepdim=True).clamp_min(1e-10).sqrt()
        x = self.encoder(torch.cat([mag, spec], 1).contiguous(memory_format=torch.channels_last))
        y = self.blocks(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        y = self.dense(self.fuse(torch.cat([y, x], 1)))
        y = self.up(y).unflatten(1, (2, -1)).movedim(1, -1).flatten(-2)  # B, C, T, 2 F
        return self.mask(spec, self.out(y)[..., : spec.shape[3]])


class GatedLayer(nn.Module):
    """Apply a 1 x 1 unit to four times the growth, then multiply value and gate of a dilated 3 x 3
    convolution."""

    def __init__(self, in_channels: int, growth: int, dilation: int, dropout: float, stride: int):
        super().__init__()
        self.widen = _unit(in_channels, 4 * growth, 1)
        both = nn.Conv2d(
            4 * growth, 2 * growth, 3, (1, stride), (dilation, 1), (dilation, 1), bias=False
        )
        self.both = nn.Sequential(both, nn.BatchNorm2d(2 * growth))
        self.act = nn.PReLU()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.both(self.widen(x)).chunk(2, dim=1)
        return self.dropout(self.act(value)) * torch.sigmoid(gate)


class Attention(nn.Module):
    """Apply multi-head self-attention (Vaswani et al. 2017): (N, L, C) -> (N, L, C)."""

    def __init__(self, channels: int, heads: int):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        # each N, H, L, d
        q, k, v = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(attend(q, k, v).transpose(1, 2).flatten(-2))


class ConvModule(nn.Module):
    """(N, L, C) -> the same: pointwise convolution and GLU, depthwise convolution, batch norm,
    Swish, pointwise."""

    def __init__(self, channels: int, kernel: int, dropout: float):
        super().__init__()
        self.widen = nn.Linear(channels, 2 * channels)
        self.out = nn.Linear(channels, channels)
        depthwise = nn.Conv2d(
            channels, channels, (1, kernel), padding=(0, kernel // 2), groups=channels, bias=False
        )
        self.local = nn.Sequential(depthwise, nn.BatchNorm2d(channels))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        # 1, C, N, L: the sequences as the rows of one picture
        y = F.glu(self.widen(x)).permute(2, 0, 1)[None]
        return self.dropout(self.out(F.silu(self.local(y)[0].permute(1, 2, 0))))


class Block(nn.Module):
    """Apply a post-norm Conformer block: (N, L, C) -> (N, L, C)."""

    def __init__(self, config: ConformerConfig):
        super().__init__()
        c = config.channels
        self.feed1 = _feed(c, config.dropout)
        self.feed2 = _feed(c, config.dropout)
        self.attention = nn.Sequential(Attention(c, config.heads), nn.Dropout(config.dropout))
        self.conv = ConvModule(c, config.kernel, config.dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norms[0](x + 0.5 * self.feed1(x))
        x = self.norms[1](x + self.attention(x))
        x = self.norms[2](x + self.conv(x))
        return self.norms[3](x + 0.5 * self.feed2(x))


def _unit(in_channels: int, out_channels: int, kernel: int) -> nn.Sequential:
    conv = nn.Conv2d(in_channels, out_channels, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out_channels), nn.PReLU())


def _feed(channels: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(channels, 4 * channels),
        nn.SiLU(),
        nn.Dropout(dropout),
        nn.Linear(4 * channels, channels),
        nn.Dropout(dropout),
    )
