"""The loss of a step, some of whose items go on in the state that the step before has left."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..losses.composite import LossConfig, composite
from ..networks import enhance
from ..networks.streaming import StreamingEnhancer
from ..nn.state import flatten_state, unflatten_state


def loss_of(
    config: LossConfig, carried: float = 0.0
) -> Callable[[nn.Module, Tensor, Tensor], tuple[Tensor, dict[str, Tensor]]]:
    """The composite loss of what a network makes of noisy, against clean.

    carried: the chance that an item begins in the state that the step before has left, and not in silence: a stream at
    work has been running for long, and speakers and noises change in it. Of a network that carries, whole hops are
    compared, without the last `latency` samples: they come with what goes on. A run that is resumed begins in silence
    once, and one whose loss was not finite.
    """
    left: dict[str, Tensor] = {}  # of every layer, items first

    def loss(network: nn.Module, noisy: Tensor, clean: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        nonlocal left
        if not carried or not isinstance(network, StreamingEnhancer):
            return composite(config, clean=clean, enhanced=enhance(network, noisy))
        kept = (torch.rand(len(noisy)) < carried).to(noisy.device)
        begin = {name: _kept(state, kept) for name, state in left.items()}
        samples = compared(network, noisy.shape[1], carried)
        enhanced, state = network(noisy[:, : samples + network.latency], unflatten_state(begin) or None)
        enhanced, clean = enhanced[:, network.latency :], clean[:, :samples]
        total, terms = composite(config, clean=clean, enhanced=enhanced)
        fine = total.isfinite()  # stays on the device: nothing waits for it
        left = {name: torch.where(fine, value.detach(), 0.0) for name, value in flatten_state(state).items()}
        return total, terms

    return loss


def compared(network: nn.Module, samples: int, carried: float) -> int:
    """How many of the samples of a segment the loss hears, see `loss_of`; of a segment that is too short, none."""
    if not carried or not isinstance(network, StreamingEnhancer):
        return samples
    return max(0, samples - samples % network.config.hop_length - network.latency)


def _kept(state: Tensor, kept: Tensor) -> Tensor:
    """A layer's state (items, ...) or (items * bands, ...), zero but for the items that are `kept` (items,)."""
    rows = kept.repeat_interleave(len(state) // len(kept))
    return state * rows.view(-1, *[1] * (state.ndim - 1))
