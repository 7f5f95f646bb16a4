"""Average the weights of a network over the steps of training."""

import copy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

N = TypeVar("N", bound=nn.Module)


class WeightEMA(Generic[N]):
    """Hold the exponential moving average of weights and floating-point buffers; other buffers are
    copied.

    After n updates the decay is at most (1 + n) / (10 + n), so that the share of the first weights
    falls soon; with a constant decay of 0.999 it would still be a tenth after 2300 steps. network:
    a copy of the network that holds the averages.
    """

    def __init__(self, network: N, decay: float):
        self.network = copy.deepcopy(network)
        self.decay = decay
        self.updates = 0
        pairs = list(zip(_tensors(self.network), _tensors(network), strict=True))
        self._averaged = [pair for pair in pairs if pair[0].is_floating_point()]
        self._copied = [pair for pair in pairs if not pair[0].is_floating_point()]

    @torch.no_grad()
    def update(self) -> None:
        """Include the present weights; the first update copies them."""
        averages, values = _unzipped(self._averaged)
        if not self.updates:
            copy_(averages, values)
        elif averages:
            torch._foreach_lerp_(averages, values, max(1 - self.decay, 9 / (10 + self.updates)))
        copy_(*_unzipped(self._copied))
        self.updates += 1


@torch.no_grad()
def copy_(targets: list[Tensor], sources: list[Tensor]) -> None:
    """Copy each source into its target, in one launch per dtype and device."""
    if targets:
        torch._foreach_copy_(targets, sources)


def _tensors(network: nn.Module) -> list[Tensor]:
    return [*network.parameters(), *network.buffers()]


def _unzipped(pairs: list[tuple[Tensor, Tensor]]) -> tuple[list[Tensor], list[Tensor]]:
    return [target for target, _ in pairs], [source for _, source in pairs]
