"""Mix time by one global token per frame: attention over a long window on one vector for all bands.

Attention over time for every band needs a cache per band; a token per frame needs one, so its
window may be long. A gate per band scales how much of the token's context is added.
"""

import copy
import math
from typing import Self

import torch
from torch import Tensor, nn

from qse.nn.attention import CausalSharedScoreAttention
from qse.nn.linear import QuaternionLinear
from qse.nn.time_mixer import TimeMixer


class GlobalToken(TimeMixer):
    """Mix frames by a global token: (B * bands, T, 4, C) -> same shape.

    The bands of a frame are adjacent in the batch. token[t] = sum over bands of softmax(Re(x (x)
    key*) / sqrt(4 C)) x, context = causal shared-score attention of the tokens over `window`
    frames, y = x (x) W + sigma(x (x) U + b) * context. State: that of the attention.
    """

    def __init__(self, bands: int, channels: int, heads: int, window: int):
        super().__init__()
        self.bands = bands
        self.key = nn.Parameter(torch.randn(4, channels))
        self.attention = CausalSharedScoreAttention(channels, heads, window)
        self.project = QuaternionLinear(channels, 2 * channels)

    @classmethod
    def of_sizes(cls, *, bands: int, channels: int, heads: int, window: int) -> Self:
        return cls(bands, channels, heads, window)

    def at_bands(self, bands: int) -> Self:
        mixer = copy.copy(self)
        mixer.bands = bands
        return mixer

    def score_weights(self) -> dict[str, int]:
        return {"key": 1}

    def forward(self, x: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        x = x.unflatten(0, (-1, self.bands))  # B, bands, T, 4, C
        score = (x * self.key).sum((-2, -1), keepdim=True) / math.sqrt(self.key.numel())
        context, state = self.attention((score.softmax(1) * x).sum(1), state)  # B, T, 4, C
        local, gate = self.project(x).chunk(2, -1)
        return (local + torch.sigmoid(gate) * context[:, None]).flatten(0, 1), state
