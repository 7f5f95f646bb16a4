"""The paper's bottleneck: blocks of attention along time, [B F, T, C], and along frequency, [B T,
F, C], in turn (main paper, section 4.2.2 and Appendix D.1, Figure 6b).

Tokens are (B, T, F, 4, C). A block is post-norm: x = norm(x + layer(x)).
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.nn.attention import SharedScoreAttention
from qse.nn.layout import to_features, to_tokens
from qse.nn.linear import QuaternionLinear
from qse.nn.norm import QuaternionLayerNorm

from ..nn.conv_attention import ConvolutionAttention
from ..nn.hamilton import HamiltonAttention
from .dilated_densenet import NormedConv

ATTENTION: dict[str, Callable[[int, int, bool], nn.Module]] = {
    "shared": SharedScoreAttention,
    "hamilton": HamiltonAttention,
    "convolution": ConvolutionAttention,
}
# axes of (B, T, F, ...)
TIME = 1
FREQUENCY = 2
TILE = 4096  # tokens that a block computes at once outside training


class AlongAxis(nn.Module):
    """Apply a block (N, L, ...) -> (N, L, ...) along an axis of (B, T, F, ...); N counts batch and
    the other axis.

    Sequences are independent, so in eval mode a few are computed at a time: the intermediate
    results of a block then stay in the processor's cache and take little memory.
    """

    def __init__(self, axis: int, block: nn.Module):
        super().__init__()
        self.axis = axis
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(self.axis, 2)  # B, other, L, ...
        y = x.contiguous().flatten(0, 1)
        if self.training or torch.compiler.is_compiling():
            y = self.block(y)
        else:
            y = torch.cat([self.block(part) for part in y.split(max(1, TILE // y.shape[1]))])
        return y.unflatten(0, x.shape[:2]).transpose(self.axis, 2)


class FeedForward(nn.Sequential):
    """Apply a linear layer to four times the channels, an activation, and a linear layer back."""

    def __init__(self, channels: int, act: nn.Module, dropout: float):
        super().__init__(
            QuaternionLinear(channels, 4 * channels),
            act,
            nn.Dropout(dropout),
            QuaternionLinear(4 * channels, channels),
            nn.Dropout(dropout),
        )


class ConvModule(nn.Module):
    """The Conformer's convolution (Gulati et al. 2020, section 2.2): (N, L, 4, C) -> the same; its
    kernel mixes all channels."""

    def __init__(self, channels: int, kernel: int, dropout: float):
        super().__init__()
        self.widen = QuaternionLinear(channels, 2 * channels)
        self.local = NormedConv(channels, channels, (1, kernel))
        self.act = nn.SiLU(inplace=True)
        self.out = QuaternionLinear(channels, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        y = F.glu(self.widen(x), dim=-1)  # the second half of the 2 C channels gates the first
        # the sequences as the rows of one picture
        y = to_tokens(self.local(to_features(y[None])))[0]
        return self.dropout(self.out(self.act(y)))


class TransformerBlock(nn.Module):
    """Apply attention and a feed-forward layer (Vaswani et al. 2017): (N, L, 4, C) ->
    (N, L, 4, C)."""

    def __init__(self, channels: int, attention: nn.Module, dropout: float):
        super().__init__()
        self.attention = nn.Sequential(attention, nn.Dropout(dropout))
        self.feed = FeedForward(channels, nn.ReLU(inplace=True), dropout)
        self.norms = nn.ModuleList(QuaternionLayerNorm(channels) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norms[0](x + self.attention(x))
        return self.norms[1](x + self.feed(x))


class ConformerBlock(nn.Module):
    """(N, L, 4, C) -> the same: half a feed-forward layer, attention, convolution, half a
    feed-forward layer (Gulati et al. 2020)."""

    def __init__(self, channels: int, attention: nn.Module, kernel: int, dropout: float):
        super().__init__()
        self.feed1 = FeedForward(channels, nn.SiLU(inplace=True), dropout)
        self.attention = nn.Sequential(attention, nn.Dropout(dropout))
        self.conv = ConvModule(channels, kernel, dropout)
        self.feed2 = FeedForward(channels, nn.SiLU(inplace=True), dropout)
        self.norms = nn.ModuleList(QuaternionLayerNorm(channels) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norms[0](torch.add(x, self.feed1(x), alpha=0.5))
        x = self.norms[1](x + self.attention(x))
        x = self.norms[2](x + self.conv(x))
        return self.norms[3](torch.add(x, self.feed2(x), alpha=0.5))
