"""Define the batches of a training run, and the interface of the sources that they come from."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from ..torch_device import uploaded


class Batch(NamedTuple):
    """Segments to train on: noisy and clean, float32 (size, samples), at `sample_rate` in Hz.

    enrolment: of each item speech of its talker, (size, samples) at 16 kHz, zeros where the network
    shall not know who that is; None where it is never told.
    """

    noisy: Tensor
    clean: Tensor
    sample_rate: int
    enrolment: Tensor | None = None

    @property
    def seconds(self) -> float:
        """Return the duration of all items together."""
        return self.noisy.shape[0] * self.noisy.shape[1] / self.sample_rate

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch on a device."""
        device = torch.device(device)
        noisy = uploaded(self.noisy, device)
        clean = uploaded(self.clean, device)
        enrolment = None if self.enrolment is None else uploaded(self.enrolment, device)
        return Batch(noisy, clean, self.sample_rate, enrolment)


class BatchSource(Protocol):
    """Batches of segments, a function of (step, size, rank) alone, so that a resumed run gets the
    same ones.

    segments: how many make an epoch.
    """

    segments: int

    def batch(self, step: int, size: int, rank: int = 0) -> Batch:
        """Return batch `step` of `size` items in process `rank`;
        processes must get different ones."""
