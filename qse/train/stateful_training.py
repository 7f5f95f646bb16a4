"""Compute the loss of a step in which some items continue from the state at the end of the step before."""

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from ..data.multi_rate import WIDE_BAND, wide_band
from ..losses.composite import LossConfig, composite
from ..networks import Network
from ..networks.offline import Offline
from ..nn.state import flatten_state, unflatten_state
from .recipe import RunConfig
from .trainer import Carried, Loss, Terms


def training_loss(
    config: LossConfig,
    carry_state_probability: float = 0.0,
    sample_rates: Mapping[int, int] | None = None,
    look_ahead: Sequence[int] = (),
) -> Loss:
    """Return the composite loss of the enhanced against the clean signal, as the trainer calls it.

    carry_state_probability: that an item starts from the state at the end of the step before rather than from zero. A
    stream in use runs for long, and speakers and noises change in it. Of a network that carries its state the loss
    compares whole hops without the last `latency` samples, which come out with the next hops. States of a step whose
    loss is not finite are carried as zero.
    sample_rates: of a network that trains at several, the rate in Hz of a segment by its length in samples.
    look_ahead: of a network that trains with several, in frames; one is drawn for every step.
    Each rate and look-ahead carries states of its own.
    """

    def loss(network: Network, noisy: Tensor, clean: Tensor, carried: Carried) -> tuple[Tensor, Terms, Carried]:
        rate = sample_rates[noisy.shape[1]] if sample_rates else network.config.sample_rate
        prefix = f"{rate}/" if sample_rates else ""
        if look_ahead:
            frames = look_ahead[int(torch.randint(len(look_ahead), ()))]
            prefix = f"{prefix}{frames}/"
            network = network.at(rate, frames)
        elif sample_rates:
            network = network.at(rate)
        compare = partial(composite, config, sample_rate=rate)
        if not carry_state_probability or not network.streams:
            enhanced, specs = _enhanced(network, noisy, clean if config.needs_specs else None)
            return *compare(clean=clean, enhanced=enhanced, noisy=noisy, specs=specs), {}
        kept = (torch.rand(len(noisy)) < carry_state_probability).to(noisy.device)
        begin = {name.removeprefix(prefix): _masked(s, kept) for name, s in carried.items() if name.startswith(prefix)}
        samples = compared_samples(network, noisy.shape[1], carry_state_probability)
        enhanced, state = network(noisy[:, : samples + network.latency], unflatten_state(begin) or None)
        enhanced, clean = enhanced[:, network.latency :], clean[:, :samples]
        total, terms = compare(clean=clean, enhanced=enhanced, noisy=noisy[:, :samples])
        finite = total.isfinite()  # stays on the device: nothing waits for it
        after = {prefix + name: torch.where(finite, s.detach(), 0.0) for name, s in flatten_state(state).items()}
        return total, terms, {**carried, **after}

    return loss


def sample_rates(config: RunConfig) -> dict[int, int] | None:
    """Return the sample rate in Hz of a segment by its length, for a run that trains above 16 kHz; else None."""
    mixes = (config.mix, wide_band(config.mix))
    return {mix.samples: mix.sample_rate for mix in mixes} if config.mix.sample_rate > WIDE_BAND else None


def compared_samples(network: Network, samples: int, carry_state_probability: float) -> int:
    """Return how many of the samples of a segment `training_loss` compares; 0 of a segment that is too short."""
    if not carry_state_probability or not network.streams:
        return samples
    return max(0, samples - samples % network.config.hop_length - network.latency)


def _enhanced(network: Network, noisy: Tensor, clean: Tensor | None) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
    """Return the enhanced signal and, of an offline network where `clean` is given, the clean and the enhanced spec."""
    if clean is None or not isinstance(network, Offline):
        return network.enhance(noisy), None
    enhanced, spec = network.with_spec(noisy)
    return enhanced, (network.analysis(clean), spec)


def _masked(state: Tensor, kept: Tensor) -> Tensor:
    """Return a layer's state (items, ...) or (items * bands, ...), zero but for the items that are `kept` (items,)."""
    rows = kept.repeat_interleave(len(state) // len(kept))
    return state * rows.view(-1, *[1] * (state.ndim - 1))
