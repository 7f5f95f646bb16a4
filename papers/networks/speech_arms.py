"""Attention for controls on speech, of the same form as that of the networks.

A recipe names a class as "qse_papers.networks.speech_arms:UniformAttention".
"""

from torch import Tensor, nn

from qse.networks.algebra import convert_
from qse.nn.attention import SharedScoreAttention
from qse.nn.declared import TOKENS
from qse.nn.linear import QuaternionLinear

from ..nn.hamilton import HamiltonAttention


class UniformAttention(nn.Module):
    """Attend with equal weights: (N, L, 4, C) -> the same, for every token the mean of all values.

    It has the values and the output layer of an attention, but no queries, keys and scores.
    """

    quaternion_axis = TOKENS

    def __init__(self, channels: int, heads: int, qk_norm: bool):
        super().__init__()
        self.value = QuaternionLinear(channels, channels)
        self.out = QuaternionLinear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        mean = self.value(x).mean(1, keepdim=True)
        return self.out(mean).expand_as(x)


class NoAttention(nn.Module):
    """Apply the output layer of an attention alone, to each token: (N, L, 4, C) -> the same."""

    quaternion_axis = TOKENS

    def __init__(self, channels: int, heads: int, qk_norm: bool):
        super().__init__()
        self.out = QuaternionLinear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x)


class RealSharedScoreAttention(SharedScoreAttention):
    """Shared scores of queries, keys and values by a free real matrix."""

    def __init__(self, channels: int, heads: int, qk_norm: bool):
        super().__init__(channels, heads, qk_norm)
        convert_(self.project, "real")


class RealHamiltonAttention(HamiltonAttention):
    """Hamilton attention of queries, keys and values by a free real matrix."""

    def __init__(self, channels: int, heads: int, qk_norm: bool):
        super().__init__(channels, heads, qk_norm)
        convert_(self.project, "real")
