"""Define the interface of the sources from which a training run draws its batches."""

from typing import Protocol

from torch import Tensor


class Source(Protocol):
    """Batches of segments: (noisy, clean), float32 (size, samples), a function of (step, size, rank) alone.

    segments: how many make an epoch.
    """

    segments: int

    def batch(self, step: int, size: int, rank: int = 0) -> tuple[Tensor, Tensor]: ...
