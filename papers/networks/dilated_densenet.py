"""Compute the dilated dense block of the paper's encoder and decoder, not causal
(main paper, Appendix D.1, Figure 6c).

Features are (B, 4, C, T, F), channels counted in quaternions and innermost in memory
(qse/nn/layout.py); every operation here keeps that order. Dilation is along time, as in WaveNet.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.export.real_form import register
from qse.export.real_layers import conv_of
from qse.nn.batch_norm import fold_batch_norm
from qse.nn.conv_gradient import conv2d
from qse.nn.declared import FEATURES
from qse.nn.init import quaternion_init_
from qse.nn.layout import join, to_features, to_tokens
from qse.nn.quaternion import real_matrix

TILE = 32768  # bins of the frames that a layer computes at once outside training


def in_tiles(layer: Callable[[Tensor], Tensor], x: Tensor, reach: int, training: bool) -> Tensor:
    """Compute layer(x), where a frame of the result depends on `reach` frames of x on either side.

    Outside training x is computed in tiles of frames with `reach` frames on both sides, so that the
    widest features stay in the processor's cache. The result is the same.
    """
    frames = x.shape[-2]
    tile = max(TILE // x.shape[-1], 8 * reach)
    if training or torch.compiler.is_compiling() or frames <= tile:
        return layer(x)
    parts = []
    for start in range(0, frames, tile):
        first = max(start - reach, 0)
        y = layer(x[..., first : start + tile + reach, :])
        parts.append(to_tokens(y[..., start - first : start - first + tile, :]))
    return to_features(torch.cat(parts, dim=1))


class NormedConv(nn.Module):
    """Apply a convolution and batch norm: (B, 4, C, T, F) -> (B, 4, C', T, F'), F' = F / stride, T
    unchanged.

    In eval mode the norm is folded into the kernel.
    """

    quaternion_weights = ("weight",)
    quaternion_axis = FEATURES

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel: tuple[int, int],
        dilation: int = 1,
        stride: int = 1,
    ):
        super().__init__()
        self.weight = nn.Parameter(
            quaternion_init_(torch.empty(4, out_channels, in_channels, *kernel))
        )
        self.batch_norm = nn.BatchNorm2d(4 * out_channels)
        self.stride = (1, stride)
        self.dilation = (dilation, 1)
        self.padding = (dilation * (kernel[0] // 2), kernel[1] // 2)

    def forward(self, x: Tensor) -> Tensor:
        weight = real_matrix(self.weight)
        if self.training:
            return self.batch_norm(self._convolve(x, weight, None)).unflatten(1, (4, -1))
        return self._convolve(x, *fold_batch_norm(weight, None, self.batch_norm)).unflatten(
            1, (4, -1)
        )

    def _convolve(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if weight.shape[2:] == (1, 1):  # a matrix product needs no copies as a convolution does
            y = F.linear(to_tokens(x).flatten(-2), weight[..., 0, 0], bias)
            return y.permute(0, 3, 1, 2)
        # decides the layout of the result
        weight = weight.contiguous(memory_format=torch.channels_last)
        return conv2d(x.flatten(1, 2), weight, bias, self.stride, self.padding, self.dilation)


@register(NormedConv)
def _real_conv(conv: NormedConv) -> nn.Conv2d:
    """Return the real form of a convolution and its batch norm, for export."""
    return conv_of(*fold_batch_norm(real_matrix(conv.weight), None, conv.batch_norm), conv)


class Unit(nn.Sequential):
    """Apply a convolution, batch norm and PReLU."""

    def __init__(self, in_channels: int, out_channels: int, kernel: tuple[int, int]):
        super().__init__(NormedConv(in_channels, out_channels, kernel), nn.PReLU())


class GatedLayer(nn.Module):
    """1x1 convolution - batch norm - leaky ReLU to four times the growth; then a dilated 3x3
    convolution - batch norm - PReLU - dropout, times the sigmoid of a second one (WaveNet). Both
    are one convolution, with half its channels each.

    The leaky ReLU is a PReLU with a fixed slope, because it can work in place on the widest
    features.
    """

    def __init__(
        self, in_channels: int, growth: int, dilation: int, dropout: float, stride: int = 1
    ):
        super().__init__()
        self.reach = dilation
        self.widen = nn.Sequential(
            NormedConv(in_channels, 4 * growth, (1, 1)), nn.LeakyReLU(0.25, inplace=True)
        )
        self.both = NormedConv(4 * growth, 2 * growth, (3, 3), dilation, stride)
        self.act = nn.PReLU()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return in_tiles(self._layer, x, self.reach, self.training)

    def _layer(self, x: Tensor) -> Tensor:
        value, gate = self.both(self.widen(x)).chunk(2, dim=-3)
        return self.dropout(self.act(value)) * torch.sigmoid(gate)


class DilatedDense(nn.Module):
    """Apply layers, each to the input and all outputs before it: (B, 4, C, T, F) ->
    (B, 4, growth, T, F').

    `stride` is that of the last layer along frequency, whose output is the result. layer: of the
    arguments of `GatedLayer`; one on real features (B, C, T, F) makes a real block.
    """

    def __init__(
        self,
        channels: int,
        growth: int,
        dilations: tuple[int, ...],
        dropout: float,
        stride: int = 1,
        layer: Callable[..., nn.Module] = GatedLayer,
    ):
        super().__init__()
        strides = [1] * (len(dilations) - 1) + [stride]
        self.layers = nn.ModuleList()
        for n, dilation in enumerate(dilations):
            seen = channels + n * growth
            self.layers.append(layer(seen, growth, dilation, dropout, strides[n]))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = join([x, layer(x)], -3)
        return self.layers[-1](x)
