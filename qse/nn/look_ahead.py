"""Read frames ahead of the one that is put out.

A network that looks R frames ahead reads the frame t + R while it puts out the frame t. What runs
beside the layer that looks ahead (skip connections, the spectrum) waits in a `Delay` of R frames.
"""

import copy

import torch
from torch import Tensor, nn

from .linear import QuaternionLinear
from .norm import QuaternionLayerNorm
from .state import Stateful


class LookAhead(Stateful):
    """Add to every token what it computes from tokens of the same band, up to `frames` frames
    later.

    (B, T, F, 4, C) -> (B, T, F, 4, C), `frames` frames late:
    y[t] = x[t] + out(silu(sum over k of taps[k](norm(x[t + k])))), k = 0, 1, 2, 4, 8, ... up to
    `frames`.
    A new layer adds nothing. State: the last `frames` tokens of every band, (B, frames, F, 4, C).
    """

    taps: nn.ModuleDict

    def __init__(self, channels: int, frames: int):
        """`frames`: at least 1."""
        super().__init__()
        self.look_ahead = frames
        self.norm = QuaternionLayerNorm(channels)
        self.taps = nn.ModuleDict()
        for ahead in tap_positions(frames):
            self.taps[str(ahead)] = QuaternionLinear(channels, 2 * channels, bias=ahead == 0)
        self.act = nn.SiLU()
        self.out = QuaternionLinear(2 * channels, channels)
        self.make_identity_()

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if past is None:
            past = x.new_zeros(x.shape[0], self.look_ahead, *x.shape[2:])
        frames = x.shape[1]
        x = torch.cat([past, x], 1)
        normed = self.norm(x)
        hidden = self.taps["0"](normed[:, :frames])
        for ahead, tap in self.taps.items():
            if ahead != "0":
                start = int(ahead)
                hidden = hidden + tap(normed[:, start : start + frames])
        y = x[:, :frames] + self.out(self.act(hidden))
        return y, x[:, frames:]

    def at(self, frames: int) -> "LookAhead":
        """Return this layer with another look-ahead, 1 to its own: the same weights, shared."""
        layer = copy.copy(self)
        kept = {str(ahead): self.taps[str(ahead)] for ahead in tap_positions(frames)}
        layer._modules = {**self._modules, "taps": nn.ModuleDict(kept)}
        layer.look_ahead = frames
        return layer

    def branches(self) -> dict[str, tuple[str, ...]]:
        """Return the parts of the branch that this layer adds to a delay."""
        return {"ahead": ("norm", "taps", "out")}

    def make_identity_(self, branch: str = "ahead") -> None:
        """Make the layer a delay alone, from which it can be trained."""
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.get_parameter("bias"))


def tap_positions(frames: int) -> list[int]:
    """Return the frames ahead that are read: 0, and the powers of two up to `frames`."""
    return [0, *(2**power for power in range(frames.bit_length()))]
