"""Delay signals by whole frames."""

from torch import Tensor

from .layout import is_channels_innermost, to_features, to_tokens
from .state import Stateful, delay


class Delay(Stateful):
    """Delay a signal by `frames`, at least 1, along its axis of time: by default (..., T, F).

    State: the last frames, in the shape of the signal.
    """

    def __init__(self, frames: int, dim: int = -2):
        """`dim`: the axis of time, counted from the end."""
        super().__init__()
        self.frames = frames
        self.dim = dim

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if past is None:
            shape = list(x.shape)
            shape[self.dim] = self.frames
            past = x.new_zeros(shape)
        if not is_channels_innermost(x):
            return delay(x, past, dim=x.ndim + self.dim)
        y, past = delay(to_tokens(x), to_tokens(past), dim=1)
        return to_features(y), to_features(past)
