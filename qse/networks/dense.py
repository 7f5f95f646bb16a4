"""The dilated dense block of encoder and decoder (main paper, Appendix D.1, Figure 6c), causal in time.

Features are (B, 4, C, T, F). Every layer sees the block's input and all layers before it; its kernel reaches back
`dilation` frames. With `gated` it is gated, as there, but by a convolution that sees the newest frame alone, bin by
bin: a sixth of the weights.
"""

from torch import Tensor, nn

from ..nn.conv import CausalConv2d, QuaternionConv2d
from ..nn.layout import join
from ..nn.norm import QuaternionBatchNorm2d
from ..nn.state import Stateful


class ConvUnit(nn.Module):
    """Convolution without memory - batch norm - leaky ReLU."""

    def __init__(self, in_channels: int, out_channels: int, kernel: tuple[int, int], stride: int = 1):
        super().__init__()
        padding = (0, kernel[1] // 2)
        self.conv = QuaternionConv2d(in_channels, out_channels, kernel, stride=(1, stride), padding=padding, bias=False)
        self.norm = QuaternionBatchNorm2d(out_channels)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


class Gate(ConvUnit):
    """Features (B, 4, C, T, F) -> factors (B, 4, C', T, F): twice the sigmoid of a convolution, bin by bin."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__(in_channels, out_channels, (1, 1))
        self.act = nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)

    def pass_on_(self) -> None:
        """Opens the gate: every factor is 1, where training can begin."""
        nn.init.zeros_(self.norm.weight)
        nn.init.zeros_(self.norm.bias)


class CausalUnit(Stateful):
    """Causal convolution - batch norm - leaky ReLU, optionally gated. State: that of the convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel: tuple[int, int],
        *,
        dilation: int = 1,
        stride: int = 1,
        gated: bool = False,
    ):
        super().__init__()
        self.conv = CausalConv2d(in_channels, out_channels, kernel, dilation=dilation, stride=stride, bias=False)
        self.norm = QuaternionBatchNorm2d(out_channels)
        self.act = nn.LeakyReLU(0.2)
        self.gate = Gate(in_channels, out_channels) if gated else None

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, past = self.conv(x, past)
        y = self.act(self.norm(y))
        return (y if self.gate is None else y * self.gate(x)), past


class DenseBlock(Stateful):
    """(B, 4, C, T, F) -> (B, 4, C, T, F), residual. State: `{layer: its last frames}`."""

    def __init__(self, channels: int, growth: int, dilations: tuple[int, ...], gated: bool = False):
        super().__init__()
        self.layers = nn.ModuleDict(
            {
                f"layer{n}": CausalUnit(channels + n * growth, growth, (2, 3), dilation=dilation, gated=gated)
                for n, dilation in enumerate(dilations)
            }
        )
        self.out = ConvUnit(channels + len(dilations) * growth, channels, (1, 1))

    def forward(self, x: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        state, after, seen = state or {}, {}, x
        for name, layer in self.layers.items():
            y, after[name] = layer(seen, state.get(name))
            seen = join([seen, y], -3)
        return x + self.out(seen), after
