"""Adapt features to a talker, whom states of the network itself describe ("Personalized Speech
Enhancement Without a Separate Speaker Embedding Model", arXiv 2406.09928)."""

from torch import Tensor, nn

from .linear import QuaternionLinear


class TalkerScale(nn.Module):
    """Scale and shift tokens x (N, T, 4, C) by the vectors v of talkers (N, 4, C).

    y = x * (1 + v (x) S) + v (x) B, elementwise but for (x); zero vectors leave x as it is, and so
    do all at first, when S and B are zero.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.scale = QuaternionLinear(channels, channels, bias=False)
        self.shift = QuaternionLinear(channels, channels, bias=False)
        for layer in (self.scale, self.shift):
            nn.init.zeros_(layer.weight)

    def forward(self, x: Tensor, talker: Tensor) -> Tensor:
        return x + x * self.scale(talker)[:, None] + self.shift(talker)[:, None]
