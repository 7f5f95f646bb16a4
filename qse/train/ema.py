"""Average the weights of a network over the steps of training."""

import copy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

N = TypeVar("N", bound=nn.Module)


class WeightEMA(Generic[N]):
    """Hold the exponential moving average of weights and floating-point buffers; other buffers, and
    those that are not finite, such as a mask of attention, are copied.

    After n updates the decay is at most (1 + n) / (10 + n), so that the share of the first weights
    falls soon; with a constant decay of 0.999 it would still be a tenth after 2300 steps. network:
    a copy of the network that holds the averages.
    """

    def __init__(self, network: N, decay: float):
        self.network = copy.deepcopy(network)
        self.decay = decay
        self.updates = 0
        self._averages: list[Tensor] = []  # floating-point tensors, in the order of `_values`
        self._values: list[Tensor] = []
        self._copies: list[Tensor] = []  # others, in the order of `_originals`
        self._originals: list[Tensor] = []
        for average, value in zip(_tensors(self.network), _tensors(network), strict=True):
            if average.is_floating_point() and average.isfinite().all():
                self._averages.append(average)
                self._values.append(value)
            else:
                self._copies.append(average)
                self._originals.append(value)

    @torch.no_grad()
    def update(self) -> None:
        """Include the present weights; the first update copies them."""
        weight = max(1 - self.decay, 9 / (10 + self.updates))
        if not self.updates:
            copy_(self._averages, self._values)
        elif self._averages:
            torch._foreach_lerp_(self._averages, self._values, weight)
        copy_(self._copies, self._originals)
        self.updates += 1


@torch.no_grad()
def copy_(targets: list[Tensor], sources: list[Tensor]) -> None:
    """Copy each source into its target, in one launch per dtype and device."""
    if targets:
        torch._foreach_copy_(targets, sources)


def _tensors(network: nn.Module) -> list[Tensor]:
    return [*network.parameters(), *network.buffers()]
