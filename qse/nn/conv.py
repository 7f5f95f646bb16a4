"""Convolve quaternion features (main paper, Appendix A.2, Eqs. 29-32), and up-sample them along
frequency.

Features are (B, 4, C, T, F): batch, component, channels in quaternions, frames, bins. Kernels are
(time, frequency). Causal layers hold their last frames as state: a kernel of kt frames, dilated by
d, needs (kt - 1) d frames.
"""

import torch
from torch import Tensor, nn

from .conv_gradient import conv2d
from .declared import FEATURES
from .init import quaternion_init_
from .layout import is_channels_innermost, join, to_features
from .quaternion import real_matrix
from .state import Stateful


class QuaternionConv2d(nn.Module):
    """Convolve (B, 4, C, T, F) -> (B, 4, C', T', F'), zero-padded by `padding` (time, frequency);
    no state."""

    quaternion_weights = ("weight",)
    quaternion_axis = FEATURES

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel: tuple[int, int],
        *,
        stride: tuple[int, int] = (1, 1),
        padding: tuple[int, int] = (0, 0),
        dilation: tuple[int, int] = (1, 1),
        bias: bool = True,
    ):
        super().__init__()
        self.weight = nn.Parameter(
            quaternion_init_(torch.empty(4, out_channels, in_channels, *kernel))
        )
        self.bias = nn.Parameter(torch.zeros(4, out_channels)) if bias else None
        self.stride = stride
        self.padding = padding
        self.dilation = dilation

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.flatten()
        weight = real_matrix(self.weight)
        y = conv2d(x.flatten(1, 2), weight, bias, self.stride, self.padding, self.dilation)
        return y.unflatten(1, (4, -1))


class CausalConv2d(Stateful):
    """Convolve causally in time; F is zero-padded such that F' = F / stride.

    State: the last (kt - 1) * dilation frames of x, (B, 4, C, history, F).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel: tuple[int, int],
        *,
        dilation: int = 1,
        stride: int = 1,
        bias: bool = True,
    ):
        super().__init__()
        self.kernel = kernel
        self.history = (kernel[0] - 1) * dilation
        self.conv = QuaternionConv2d(
            in_channels,
            out_channels,
            kernel,
            stride=(1, stride),
            padding=(0, kernel[1] // 2),
            dilation=(dilation, 1),
            bias=bias,
        )

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if past is None:
            past = x.new_zeros(*x.shape[:-2], self.history, x.shape[-1])
        x = join([past, x], -2)
        return self.conv(x), x[..., x.shape[-2] - self.history :, :]


class FrequencyUpsample(nn.Module):
    """Up-sample along frequency by sub-pixel convolution: (B, 4, C, T, F) ->
    (B, 4, C', T, factor * F)."""

    def __init__(self, in_channels: int, out_channels: int, factor: int = 2, kernel: int = 3):
        super().__init__()
        self.factor = factor
        self.conv = QuaternionConv2d(
            in_channels, factor * out_channels, (1, kernel), padding=(0, kernel // 2)
        )

    def forward(self, x: Tensor) -> Tensor:
        if is_channels_innermost(x):
            return self._by_bands(x)
        y = self.conv(x).unflatten(-3, (self.factor, -1))  # B, 4, factor, C', T, F
        return y.movedim(-4, -1).flatten(-2)

    def _by_bands(self, x: Tensor) -> Tensor:
        """Compute the same with `factor` outside of components,
        so that the result needs no copy."""
        weight = self._factor_first(real_matrix(self.conv.weight))
        bias = self._factor_first(self.conv.get_parameter("bias").flatten())
        y = conv2d(x.flatten(1, 2), weight, bias, padding=self.conv.padding)
        y = y.permute(0, 2, 3, 1).unflatten(-1, (self.factor, 4, -1))  # B, T, F, factor, 4, C'
        return to_features(y.flatten(2, 3))

    def _factor_first(self, x: Tensor) -> Tensor:
        """Reorder output channels from (4, factor, C') to (factor, 4, C')."""
        return x.unflatten(0, (4, self.factor, -1)).transpose(0, 1).flatten(0, 2)
