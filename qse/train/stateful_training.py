"""Compute the loss of a step in which some items continue from the state at the end of the step
before."""

from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any

import torch
from torch import Tensor

from ..data.multi_rate import WIDE_BAND
from ..data.source import Batch
from ..losses.composite import LossConfig
from ..losses.composite_loss import CompositeLoss, LossTerm, as_loss
from ..networks import Network, TwoGrids
from ..nn.state import flatten_state, unflatten_state
from .trainer import Carried, Loss, Terms


def training_loss(
    config: LossConfig | CompositeLoss | LossTerm,
    carry_state_probability: float = 0.0,
    look_ahead: Sequence[int] = (),
    discriminator: LossTerm | None = None,
    two_grids_share: float = 0.0,
) -> Loss:
    """Return the loss of the enhanced against the clean signal, as the trainer calls it.

    carry_state_probability: that an item starts from the state at the end of the step before rather
    than from zero. A stream in use runs for long, and speakers and noises change in it. Of a
    network that carries its state the loss compares whole hops without the last `latency` samples,
    which come out with the next hops. States of a step whose loss is not finite are carried as
    zero.
    look_ahead: of a network that trains with several, in frames; one is drawn for every step.
    discriminator: the loss of that name, where the configuration has it.
    two_grids_share: probability that a step trains the mean of two grids of frames, at twice the
    time.
    The network works at the sample rate of the batch. Each rate, look-ahead and number of grids
    carries states of its own.
    """
    objective = as_loss(config)

    def loss(network: Network, batch: Batch, carried: Carried) -> tuple[Tensor, Terms, Carried]:
        noisy, clean, rate = batch
        network, prefix = _drawn(network, rate, look_ahead, two_grids_share)
        compare = partial(objective, sample_rate=rate, discriminator=discriminator)
        if not carry_state_probability or not network.streams:
            enhanced, specs = _enhanced(network, noisy, clean if objective.needs_specs else None)
            return *compare(clean=clean, enhanced=enhanced, noisy=noisy, specs=specs), {}
        kept = (torch.rand(len(noisy)) < carry_state_probability).to(noisy.device)
        begin = {}
        for name, state in carried.items():
            if name.startswith(prefix):
                begin[name.removeprefix(prefix)] = _masked(state, kept)
        samples = compared_samples(network, noisy.shape[1], carry_state_probability)
        enhanced, state = network(
            noisy[:, : samples + network.latency], unflatten_state(begin) or None
        )
        enhanced = enhanced[:, network.latency :]
        clean = clean[:, :samples]
        total, terms = compare(clean=clean, enhanced=enhanced, noisy=noisy[:, :samples])
        finite = total.isfinite()  # stays on the device: nothing waits for it
        after = {}
        for name, leaf in flatten_state(state).items():
            after[prefix + name] = torch.where(finite, leaf.detach(), 0.0)
        return total, terms, {**carried, **after}

    return loss


def _drawn(
    network: Any, rate: int, look_ahead: Sequence[int], two_grids_share: float
) -> tuple[Network, str]:
    """Return the network at a rate, with one of the look-aheads, on one grid or two, and the prefix
    of the states that it carries."""
    prefix = f"{rate}/" if network.config.sample_rate > WIDE_BAND else ""
    if look_ahead:
        frames = look_ahead[int(torch.randint(len(look_ahead), ()))]
        network = network.at(rate, frames)
        prefix += f"{frames}/"
    else:
        network = network.at(rate)
    if two_grids_share and torch.rand(()) < two_grids_share:
        return TwoGrids(network), f"{prefix}two/"
    return network, prefix


def compared_samples(network: Network, samples: int, carry_state_probability: float) -> int:
    """Return how many of the samples of a segment `training_loss` compares; 0 of a segment that is
    too short."""
    if not carry_state_probability or not network.streams:
        return samples
    return max(0, samples - samples % network.config.hop_length - network.latency)


def least_segment(network: Network, least: int, carry_state_probability: float) -> int:
    """Return the samples of the shortest segment of which `training_loss` compares `least`
    samples."""
    if not carry_state_probability or not network.streams:
        return least
    hop = network.config.hop_length
    return hop * ceil((least + network.latency) / hop)


def _enhanced(
    network: Any, noisy: Tensor, clean: Tensor | None
) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
    """Return the enhanced signal and, of a network that has specs where `clean` is given, both."""
    if clean is None or not network.has_spec:
        return network.enhance(noisy), None
    enhanced, spec = network.with_spec(noisy)
    return enhanced, (network.analysis(clean), spec)


def _masked(state: Tensor, kept: Tensor) -> Tensor:
    """Return a layer's state (items, ...) or (items * bands, ...), zero but for the items that are
    `kept` (items,)."""
    rows = kept.repeat_interleave(len(state) // len(kept))
    return state * rows.view(-1, *[1] * (state.ndim - 1))
