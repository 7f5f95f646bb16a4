"""Define the base class of time mixers: layers along time in the dual-path blocks of a streaming
network."""

from abc import ABC, abstractmethod
from typing import Any, Self

from torch import Tensor

from .declared import TOKENS
from .state import Stateful


class TimeMixer(Stateful, ABC):
    """Mix frames along time: `forward(x, state=None) -> (y, state)`, (N, T, 4, C) -> (N, T, 4, C).

    N = batch * bands, the bands of a frame adjacent. A subclass trains, streams and exports without
    being entered anywhere: a configuration names it as "package.module:Class" in `time_mixer`. It
    declares its quaternion weights as nn/declared.py says. `look_ahead`: frames by which its output
    lags its input; the block delays what runs beside it.
    """

    quaternion_axis = TOKENS

    @classmethod
    def of_sizes(cls, *, bands: int, channels: int, heads: int, window: int) -> Self:
        """Return the mixer of a block: `cls(channels)`. A mixer that needs more overrides it, as
        `QuaternionGRU` does.

        bands: bands of a frame; channels: in quaternions; heads: of attention; window: frames to
        look back over.
        """
        kind: Any = cls
        return kind(channels)

    def at_bands(self, bands: int) -> Self:
        """Return the mixer for frames of fewer bands, as those of a lower sample rate, with the
        same weights, shared. A mixer that uses the number of bands overrides it.
        """
        return self

    @abstractmethod
    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Mix the frames of x; None is the beginning.

        In mixed precision x and state may have different types: use operators that promote them.
        """
