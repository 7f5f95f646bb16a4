"""Find time mixers and band attention of the streaming bottleneck by their names in a
configuration.

Names are those of the tables below, some of them of the papers' laboratory (laboratory.py), or
"package.module:Class" for a class of one's own: a `TimeMixer`, or for attention an nn.Module that
is built from (channels, heads, qk_norm) and maps (B * T, bands, 4, C) to the same shape.
"""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from .. import laboratory
from ..nn.attention import CausalSharedScoreAttention, SharedScoreAttention
from ..nn.linear import QuaternionLinear
from ..nn.recurrent import QuaternionGRU
from ..nn.time_mixer import TimeMixer
from ..references import find_named

TimeMixerName = Literal["gru", "attention", "rnn", "lstm", "hamilton", "ssm", "lru", "token"]
BandAttentionName = Literal["shared", "none", "hamilton"]
TIME_MIXERS: dict[str, type[TimeMixer] | str] = {
    "gru": QuaternionGRU,
    "attention": CausalSharedScoreAttention,
    **laboratory.TIME_MIXERS,
}


class NoAttention(nn.Module):
    """Apply the output layer of an attention alone, to every band separately: (N, L, 4, C) ->
    (N, L, 4, C)."""

    def __init__(self, channels: int, heads: int, qk_norm: bool):
        super().__init__()
        self.out = QuaternionLinear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x)


# of channels, heads, qk_norm
BAND_ATTENTION: dict[str, Callable[[int, int, bool], nn.Module] | str] = {
    "shared": SharedScoreAttention,
    "none": NoAttention,
    **laboratory.BAND_ATTENTION,
}


def find_time_mixer(name: str) -> type[TimeMixer]:
    """Return the class of a time mixer.

    ValueError for an unknown name, or a class that is no TimeMixer.
    """
    found = find_named(name, TIME_MIXERS, "time_mixer")
    if not (isinstance(found, type) and issubclass(found, TimeMixer)):
        raise ValueError(f"time_mixer {name!r}: derive it from qse.nn.TimeMixer")
    return found


def find_band_attention(name: str) -> Callable[[int, int, bool], nn.Module]:
    """Return the constructor of an attention across bands.

    ValueError for an unknown name, or a class that is no nn.Module.
    """
    found = find_named(name, BAND_ATTENTION, "attention")
    if isinstance(found, type) and not issubclass(found, nn.Module):
        raise ValueError(f"attention {name!r}: derive it from torch.nn.Module")
    return found
