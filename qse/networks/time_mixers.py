"""Find time mixers and band attention of the streaming bottleneck by their names in a configuration.

A time mixer maps (B * bands, T, 4, C) to the same shape, the bands of a frame adjacent in the batch; band attention
maps (B * T, bands, 4, C) to the same shape.
"""

from collections.abc import Callable

from torch import Tensor, nn

from ..nn.attention import CausalSharedScoreAttention, SharedScoreAttention
from ..nn.hamilton import HamiltonAttention
from ..nn.linear import QuaternionLinear
from ..nn.recurrent import QuaternionGRU
from ..nn.research.cells import QuaternionLSTM, QuaternionRNN
from ..nn.research.hamilton_stream import CausalHamiltonAttention
from ..nn.research.lru import QuaternionLRU
from ..nn.research.ssm import QuaternionSSM
from ..nn.research.token import GlobalToken
from ..nn.state import Stateful

TIME_MIXERS: dict[str, Callable[[int, int, int, int], Stateful]] = {  # of bands, channels, heads, window
    "gru": lambda bands, channels, heads, window: QuaternionGRU(channels, channels),
    "rnn": lambda bands, channels, heads, window: QuaternionRNN(channels, channels),
    "lstm": lambda bands, channels, heads, window: QuaternionLSTM(channels, channels),
    "attention": lambda bands, channels, heads, window: CausalSharedScoreAttention(channels, heads, window),
    "hamilton": lambda bands, channels, heads, window: CausalHamiltonAttention(channels, heads, window),
    "ssm": lambda bands, channels, heads, window: QuaternionSSM(channels),
    "lru": lambda bands, channels, heads, window: QuaternionLRU(channels),
    "token": GlobalToken,
}


class NoAttention(nn.Module):
    """Apply the output layer of an attention alone, to every band separately: (N, L, 4, C) -> (N, L, 4, C)."""

    def __init__(self, channels: int, heads: int, qk_norm: bool):
        super().__init__()
        self.out = QuaternionLinear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x)


BAND_ATTENTION: dict[str, Callable[[int, int, bool], nn.Module]] = {  # of channels, heads, qk_norm
    "shared": SharedScoreAttention,
    "hamilton": HamiltonAttention,
    "none": NoAttention,
}
