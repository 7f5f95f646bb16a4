"""Compute linear recurrences along time for all frames at once.

Parallel prefix scan (Blelloch 1990) by doubling. x is (N, T, 4, C); start is h[-1], (N, 4, C). Step
s combines every frame with the one 2^s frames before it, so log2(T) steps reach the beginning; a
single frame needs no step and is the plain recurrence.
"""

import torch
from torch import Tensor

from qse.nn.quaternion import hamilton_product


def decay_scan(decay: Tensor, x: Tensor, start: Tensor) -> Tensor:
    """Compute h[t] = decay[t] * h[t - 1] + x[t] for every real component.

    decay, x and the result are (N, T, 4, C). Adjacent spans of frames combine as
    (d1, h1) . (d2, h2) = (d1 d2, d2 h1 + h2) ("Q-Jamba", section 3.2).
    """
    x = _begin(x, decay[:, 0] * start)
    step = 1
    while step < x.shape[1]:
        x = torch.cat([x[:, :step], x[:, step:] + decay[:, step:] * x[:, :-step]], 1)
        decay = torch.cat([decay[:, :step], decay[:, step:] * decay[:, :-step]], 1)
        step *= 2
    return x


def turn_scan(turn: Tensor, x: Tensor, start: Tensor) -> Tensor:
    """Compute h[t] = h[t - 1] (x) turn + x[t] for one quaternion per channel, turn (4, C)."""
    x = _begin(x, hamilton_product(start, turn, -2))
    step = 1
    while step < x.shape[1]:
        x = torch.cat([x[:, :step], x[:, step:] + hamilton_product(x[:, :-step], turn, -2)], 1)
        turn = hamilton_product(turn, turn, -2)
        step *= 2
    return x


def _begin(x: Tensor, first: Tensor) -> Tensor:
    """Add `first` to the first frame."""
    return torch.cat([x[:, :1] + first[:, None], x[:, 1:]], 1)
