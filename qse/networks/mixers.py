"""What passes time inside a block of the streaming bottleneck, by its word in a configuration.

Every mixer is a layer (B bands, T, 4, C) -> the same, the bands of a frame following each other in the batch.
"""

from collections.abc import Callable

from ..nn.attention import CausalSharedScoreAttention
from ..nn.cells import QuaternionLSTM, QuaternionRNN
from ..nn.hamilton_stream import CausalHamiltonAttention
from ..nn.lru import QuaternionLRU
from ..nn.recurrent import QuaternionGRU
from ..nn.ssm import QuaternionSSM
from ..nn.state import Stateful
from ..nn.token import GlobalToken

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
