"""The bottleneck of the published Conformer: blocks along time, then blocks along frequency.

Tokens are (N, L, C), C real channels, components first.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .published_layers import Conv1d, Linear


class FeedForward(nn.Module):
    """Two layers with Swish between them, four times as wide: (N, L, C) -> the same."""

    def __init__(self, channels: int, dropout: float):
        super().__init__()
        self.linear1 = Linear(channels, 4 * channels)
        self.linear2 = Linear(4 * channels, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(F.silu(self.linear1(x))))


class RMSNorm(nn.Module):
    """Divide groups of four channels by their RMS, with a gain for each group.

    A group is four neighbouring channels, or with `quaternions` the components of a quaternion.
    """

    def __init__(self, channels: int, quaternions: bool):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels // 4))
        self.quaternions = quaternions

    def forward(self, x: Tensor) -> Tensor:
        if self.quaternions:
            parts = x.unflatten(-1, (4, -1))
            return (parts / _rms(parts, -2) * self.gain).flatten(-2)

        parts = x.unflatten(-1, (-1, 4))
        return (parts / _rms(parts, -1) * self.gain[:, None]).flatten(-2)


def _rms(x: Tensor, axis: int) -> Tensor:
    return (x.square().mean(axis, keepdim=True) + 1e-6).sqrt()


class Attention(nn.Module):
    """Multi-head attention: (N, L, C) -> the same.

    kind: "published", a head is a part of the flat channel axis; "shared", it holds whole
    quaternions and its score is Eq. 10.
    """

    def __init__(self, channels: int, heads: int, dropout: float, kind: str):
        super().__init__()
        self.heads = heads
        self.quaternions = kind == "shared"
        self.dropout = dropout
        self.q_proj = Linear(channels, channels)
        self.k_proj = Linear(channels, channels)
        self.v_proj = Linear(channels, channels)
        self.out_proj = Linear(channels, channels)
        self.q_norm = RMSNorm(channels, self.quaternions)
        self.k_norm = RMSNorm(channels, self.quaternions)

    def forward(self, x: Tensor) -> Tensor:
        q = self._split(self.q_norm(self.q_proj(x)))
        k = self._split(self.k_norm(self.k_proj(x)))
        v = self._split(self.v_proj(x))
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
        return self.out_proj(self._merge(y))

    def _split(self, x: Tensor) -> Tensor:
        """Return heads (N, H, L, C / H)."""
        if not self.quaternions:
            return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        parts = x.unflatten(-1, (4, self.heads, -1))  # N, L, 4, H, d
        return parts.permute(0, 3, 1, 2, 4).flatten(-2)

    def _merge(self, x: Tensor) -> Tensor:
        """Return (N, L, C) of heads."""
        if not self.quaternions:
            return x.transpose(1, 2).flatten(-2)
        parts = x.unflatten(-1, (4, -1))  # N, H, L, 4, d
        return parts.permute(0, 2, 3, 1, 4).flatten(-3)


class ConvModule(nn.Module):
    """Gate, convolve along the tokens, project: (N, L, C) -> the same."""

    def __init__(self, channels: int, kernel: int, dropout: float):
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.pointwise1 = Linear(channels, 2 * channels)
        self.qconv = Conv1d(channels, channels, kernel, bias=False)
        self.norm2 = nn.LayerNorm(channels)
        self.pointwise2 = Conv1d(channels, channels, 1, bias=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = F.glu(self.pointwise1(self.norm1(x)), -1)
        x = self.qconv(x.transpose(1, 2)).transpose(1, 2)
        x = F.silu(self.norm2(x))
        return self.dropout(self.pointwise2(x.transpose(1, 2)).transpose(1, 2))


class Block(nn.Module):
    """Half a feed-forward layer, attention, convolution, half a feed-forward layer, post-norm."""

    def __init__(self, channels: int, heads: int, kernel: int, dropout: float, attention: str):
        super().__init__()
        self.ff1 = FeedForward(channels, dropout)
        self.mhsa = Attention(channels, heads, dropout, attention)
        self.conv = ConvModule(channels, kernel, dropout)
        self.ff2 = FeedForward(channels, dropout)
        self.norm_ff1 = nn.LayerNorm(channels)
        self.norm_mhsa = nn.LayerNorm(channels)
        self.norm_conv = nn.LayerNorm(channels)
        self.norm_ff2 = nn.LayerNorm(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm_ff1(x + 0.5 * self.dropout(self.ff1(x)))
        x = self.norm_mhsa(x + self.dropout(self.mhsa(x)))
        x = self.norm_conv(x + self.conv(x))
        return self.norm_ff2(x + 0.5 * self.dropout(self.ff2(x)))


class Conformer(nn.Module):
    """All blocks along time, then all along frequency: (B, C, T, F) -> the same."""

    def __init__(
        self, channels: int, *, heads: int, layers: int, kernel: int, dropout: float, attention: str
    ):
        super().__init__()
        self.time_layers = nn.ModuleList()
        self.freq_layers = nn.ModuleList()
        for group in (self.time_layers, self.freq_layers):
            for _ in range(layers):
                group.append(Block(channels, heads, kernel, dropout, attention))

    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(0, 3, 2, 1)  # B, F, T, C
        x = _along(self.time_layers, x).transpose(1, 2)  # B, T, F, C
        return _along(self.freq_layers, x).permute(0, 3, 1, 2)


def _along(layers: nn.ModuleList, x: Tensor) -> Tensor:
    """Apply blocks along the third axis of (B, other, L, C)."""
    y = x.flatten(0, 1)
    for layer in layers:
        y = layer(y)
    return y.unflatten(0, x.shape[:2])
