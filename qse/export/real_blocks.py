"""Parts of the streaming family in a folded network, where more than a leaf changes: the same functions in fewer and
larger operators. Features are (B, C, T, F), as in nn.real.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..networks.dense_block import CausalUnit, ConvUnit, DenseBlock
from ..networks.streaming import BandSplit, FrequencyUpsample, Fuse
from ..nn.state import Stateful, delay
from .real_layers import real_conv


class RealBandSplit(nn.Module):
    """`BandSplit` of (B, 3, T, bins): what each range sees, side by side, without the real part, which is zero."""

    def __init__(self, split: BandSplit):
        super().__init__()
        seen, self.padding = split.reach()
        self.sizes, self.act = [last - first for first, last in seen], split.act
        convs = [real_conv(conv, split.norm) for conv in split.convs]
        for conv in convs:
            conv.weight = nn.Parameter(conv.weight[:, 1:].contiguous())
        self.convs = nn.ModuleList(convs)

    def forward(self, x: Tensor) -> Tensor:
        parts = zip(self.convs, x.split(self.sizes, 3), self.padding, strict=True)
        return torch.cat([self.act(conv(F.pad(part, padding))) for conv, part, padding in parts], 3)


def real_unit(unit: ConvUnit) -> nn.Sequential:
    return nn.Sequential(real_conv(unit.conv, unit.norm), unit.act)


class DelayedConv(Stateful):
    """A causal convolution with two taps in time and the activation behind it.

    Both taps are applied to the newest frame; what the older tap makes of it waits in the state for `dilation` frames.
    The output has fewer channels than the input, so that this is the smaller memory. State: (B, C', dilation, F').
    """

    def __init__(self, unit: CausalUnit):
        super().__init__()
        conv = unit.conv.conv
        real = real_conv(conv, unit.norm)
        (older, newer), bias = real.weight.unbind(2), real.get_parameter("bias")
        self.dilation, self.act = conv.dilation[0], unit.act
        self.taps = nn.Conv2d(real.in_channels, 2 * len(newer), (1, real.kernel_size[1]), conv.stride, conv.padding)
        self.taps.weight = nn.Parameter(torch.cat([newer, older])[:, :, None])
        self.taps.bias = nn.Parameter(torch.cat([bias, torch.zeros_like(bias)]))

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        now, later = self.both(x)
        if past is None:
            past = later.new_zeros(*later.shape[:2], self.dilation, later.shape[3])
        before, past = delay(later, past, dim=2)
        return self.act(now + before), past

    def both(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What the newer tap makes of x, and what the older one does, which is to be added `dilation` frames later."""
        return self.taps(x).chunk(2, 1)


class RealDenseBlock(Stateful):
    """`DenseBlock`, frame by frame. What older taps made of past frames waits until it is due.

    State: that of a layer of dilation 1 under its name (B, C', 1, F), and under `line` those of all others as they
    follow upon each other in time, layer by layer (B, sum of dilations * C', 1, F).
    """

    layers: Any

    def __init__(self, block: DenseBlock):
        super().__init__()
        self.layers = nn.ModuleDict({name: DelayedConv(layer) for name, layer in block.layers.items()})
        self.out = real_unit(block.out)
        self.widths = {name: layer.taps.out_channels // 2 for name, layer in self.layers.items()}
        deep = [(self.widths[name], layer.dilation) for name, layer in self.layers.items() if layer.dilation > 1]
        self.sizes = [size for width, dilation in deep for size in (width, (dilation - 1) * width)]

    def forward(self, x: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        state, frames = state or self._silence(x), []
        for frame in x.split(1, 2):
            y, state = self._step(frame, state)
            frames.append(y)
        return torch.cat(frames, 2), state

    def _step(self, x: Tensor, state: dict) -> tuple[Tensor, dict]:
        waiting = iter(state["line"].split(self.sizes, 1) if self.sizes else ())
        after, line, seen = {}, [], x
        for name, layer in self.layers.items():
            now, later = layer.both(seen)
            if layer.dilation == 1:
                due, after[name] = state[name], later
            else:
                due = next(waiting)
                line += [next(waiting), later]
            seen = torch.cat([seen, layer.act(now + due)], 1)
        if line:
            after["line"] = torch.cat(line, 1)
        return x + self.out(seen), after

    def _silence(self, x: Tensor) -> dict[str, Tensor]:
        channels = {name: self.widths[name] for name, layer in self.layers.items() if layer.dilation == 1}
        if self.sizes:
            channels["line"] = sum(self.sizes)
        return {name: x.new_zeros(len(x), number, 1, x.shape[3]) for name, number in channels.items()}


class RealFuse(nn.Module):
    """`Fuse` of which the up-sampling before it does one half: (x, skip) -> act(x + conv(skip))."""

    def __init__(self, fuse: Fuse, up: FrequencyUpsample):
        """Puts the half of x into the convolution of `up`."""
        super().__init__()
        self.conv, self.act, before = real_conv(fuse.conv, fuse.norm), fuse.act, real_conv(up.conv)
        first, second = self.conv.weight.chunk(2, 1)
        self.conv.in_channels, self.conv.weight = second.shape[1], nn.Parameter(second.contiguous())
        first = first.flatten(1)  # out, in
        weight = torch.einsum("oc,pcik->poik", first, before.weight.unflatten(0, (up.factor, -1)).flatten(3))
        before.weight = nn.Parameter(weight.flatten(0, 1)[:, :, None])
        bias = before.get_parameter("bias").unflatten(0, (up.factor, -1)) @ first.T + self.conv.get_parameter("bias")
        before.bias, self.conv.bias = nn.Parameter(bias.flatten()), None
        up.conv = before

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        return self.act(x + self.conv(skip))
