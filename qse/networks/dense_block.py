"""Compute the dilated dense block of encoder and decoder (main paper, Appendix D.1, Figure 6c),
causal in time.

Features are (B, 4, C, T, F). Every layer sees the block's input and all layers before it; its
kernel reaches back `dilation` frames. It has no gates.
"""

from typing import Any

from torch import Tensor, nn

from ..nn.batch_norm import QuaternionBatchNorm2d
from ..nn.conv import CausalConv2d, QuaternionConv2d
from ..nn.layout import join
from ..nn.state import Stateful


class ConvUnit(nn.Module):
    """Apply a convolution without state, batch norm and leaky ReLU."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel: tuple[int, int], stride: int = 1
    ):
        super().__init__()
        padding = (0, kernel[1] // 2)
        self.conv = QuaternionConv2d(
            in_channels, out_channels, kernel, stride=(1, stride), padding=padding, bias=False
        )
        self.norm = QuaternionBatchNorm2d(out_channels)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


class CausalUnit(Stateful):
    """Apply a causal convolution, batch norm and leaky ReLU. State: that of the convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel: tuple[int, int],
        *,
        dilation: int = 1,
        stride: int = 1,
    ):
        super().__init__()
        self.conv = CausalConv2d(
            in_channels, out_channels, kernel, dilation=dilation, stride=stride, bias=False
        )
        self.norm = QuaternionBatchNorm2d(out_channels)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, past = self.conv(x, past)
        return self.act(self.norm(y)), past


class DenseBlock(Stateful):
    """Add the output of dense layers to (B, 4, C, T, F).

    State: `{layer: last frames of its input}`.
    """

    layers: Any

    def __init__(self, channels: int, growth: int, dilations: tuple[int, ...]):
        super().__init__()
        self.layers = nn.ModuleDict()
        for n, dilation in enumerate(dilations):
            joined = channels + n * growth
            self.layers[f"layer{n}"] = CausalUnit(joined, growth, (2, 3), dilation=dilation)
        self.out = ConvUnit(channels + len(dilations) * growth, channels, (1, 1))

    def forward(self, x: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        state = state or {}
        after = {}
        seen = x
        for name, layer in self.layers.items():
            y, after[name] = layer(seen, state.get(name))
            seen = join([seen, y], -3)
        return x + self.out(seen), after
