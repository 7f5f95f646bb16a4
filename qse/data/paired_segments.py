"""Cut batches of segments from pairs of noisy and clean recordings."""

import torch
from torch import Tensor

from ..torch_device import uploaded
from .corpus import Corpus
from .sampling import BatchRng
from .source import Batch

ORDER = -1  # rank of the random numbers that order an epoch: no process has it


class PairedSegments:
    """Cut one segment of every pair per epoch, at a random position; a pair that is too short ends
    in silence.

    noisy, clean: recordings of equal lengths in equal order. samples: of a segment. A batch is a
    function of (seed, rank, step) and of the number of shares of a step, which divide the pairs of
    an epoch.
    """

    def __init__(
        self,
        noisy: Corpus,
        clean: Corpus,
        samples: int,
        seed: int,
        device: torch.device | str = "cpu",
        shares: int = 1,
    ):
        self.noisy = noisy.to(device)
        self.clean = clean.to(device)
        self.samples = samples
        self.seed = seed
        self.device = torch.device(device)
        self.shares = shares
        self.segments = len(noisy.lengths)

    @torch.no_grad()
    def batch(self, step: int, size: int, rank: int = 0) -> Batch:
        """Return batch number `step` in process `rank`, on the device."""
        pairs = self._pairs(step, size, rank)
        length = self.noisy.lengths[pairs]
        skip = BatchRng(self.seed, rank, step, self.device).below(
            (length - self.samples).clamp_min(0) + 1
        )
        place = torch.stack(
            [self.noisy.starts[pairs] + skip, length - skip, torch.zeros_like(skip)]
        )
        start, length, position = uploaded(place, self.device)
        noisy = self.noisy.excerpts(start, length, position, self.samples, fade=1)
        clean = self.clean.excerpts(start, length, position, self.samples, fade=1)
        return Batch(noisy, clean, self.noisy.sample_rate)

    def _pairs(self, step: int, size: int, rank: int) -> Tensor:
        """Return the pairs of a batch, indices (size,):
        all shares have the same order of an epoch."""
        together = size * self.shares
        epoch, place = divmod(step, max(1, self.segments // together))
        order = (
            BatchRng(self.seed, ORDER, epoch, torch.device("cpu"))
            .uniform(0, 1, self.segments)
            .argsort()
        )
        return order[(place * together + rank * size + torch.arange(size)) % self.segments]
