"""Hold the running statistics of batch norms during a step."""

import torch
from torch import Tensor, nn

from .ema import copy_


class RunningStatistics:
    """The floating-point buffers in the state of a network: running means and variances.

    Every share of a step updates them from the same values; a step keeps the mean over its shares.
    """

    def __init__(self, network: nn.Module):
        kept = network.state_dict()
        self.tensors: list[Tensor] = []
        self._counts: list[Tensor] = []  # of batches
        for name, buffer in network.named_buffers():
            if name in kept:
                (self.tensors if buffer.is_floating_point() else self._counts).append(buffer)
        self._before = list(map(torch.clone, self.tensors))
        self._counts_before = list(map(torch.clone, self._counts))
        self._of_shares: list[list[Tensor]] = []

    def begin(self) -> None:
        """Remember the values before a step."""
        copy_(self._before, self.tensors)
        copy_(self._counts_before, self._counts)
        self._of_shares = []

    def end_share(self) -> None:
        """Remember the values after a share, and return to those before the step."""
        self._of_shares.append(list(map(torch.clone, self.tensors)))
        self.restore()

    def take_mean(self) -> None:
        """Take the mean of the values of all shares."""
        means = []
        for values in zip(*self._of_shares, strict=True):
            means.append(torch.stack(values).mean(0))
        copy_(self.tensors, means)

    def restore(self) -> None:
        """Return to the values before the step."""
        copy_(self.tensors, self._before)

    def undo(self) -> None:
        """Return to the state before the step, as if there had been none."""
        self.restore()
        copy_(self._counts, self._counts_before)
