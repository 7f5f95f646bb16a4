"""Compute the loss of a step in which some items continue from the state at the end of the step
before."""

from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..data.mix_config import MixConfig
from ..data.multi_rate import WIDE_BAND
from ..data.source import Batch
from ..errors import UsageError
from ..losses.loss_config import LossConfig
from ..losses.terms import LossTerm
from ..losses.weighted_sum import WeightedSum, as_loss
from ..networks import Network, TwoGrids
from ..networks.enrolment import beginning, describe
from ..nn.state import flatten_state, unflatten_state
from ..torch_device import uploaded
from .gradient import Carried, Terms
from .train_config import TrainConfig


class Choice(NamedTuple):
    """Hold what is drawn for a step.

    network: at the rate of the batch, with a look-ahead, on one grid or two. prefix: of the names
    of the states that it carries. kept: bool (items,), those that continue from the step before;
    None where none does.
    """

    network: Any
    prefix: str
    kept: Tensor | None


class TrainingLoss:
    """The loss of the enhanced against the clean signal: calling it as the trainer does draws the
    choices of a step, and computes the loss with them.

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

    def __init__(
        self,
        config: LossConfig | WeightedSum | LossTerm,
        carry_state_probability: float = 0.0,
        look_ahead: Sequence[int] = (),
        discriminator: LossTerm | None = None,
        two_grids_share: float = 0.0,
    ):
        self.objective = as_loss(config)
        self.carry_state_probability = carry_state_probability
        self.look_ahead = look_ahead
        self.discriminator = discriminator
        self.two_grids_share = two_grids_share

    def __call__(
        self, network: Network, batch: Batch, carried: Carried
    ) -> tuple[Tensor, Terms, Carried]:
        """Return (loss, its terms, carried to the next step)."""
        choice = self.choose(network, batch)
        total, terms, after = self.compute(choice, batch, carried)
        return total, terms, {**carried, **after}

    def choose(self, network: Any, batch: Batch) -> Choice:
        """Draw the choices of a step by PyTorch's generator on the CPU."""
        rate = batch.sample_rate
        prefix = f"{rate}/" if network.config.sample_rate > WIDE_BAND else ""
        if self.look_ahead:
            frames = self.look_ahead[int(torch.randint(len(self.look_ahead), ()))]
            network = network.at(rate, frames)
            prefix += f"{frames}/"
        else:
            network = network.at(rate)
        if self.two_grids_share and torch.rand(()) < self.two_grids_share:
            network = TwoGrids(network)
            prefix += "two/"
        if not self.carry_state_probability or not network.streams:
            return Choice(network, prefix, None)
        kept = torch.rand(len(batch.noisy)) < self.carry_state_probability
        return Choice(network, prefix, uploaded(kept, batch.noisy.device))

    def compute(
        self, choice: Choice, batch: Batch, carried: Carried
    ) -> tuple[Tensor, Terms, Carried]:
        """Return (loss, its terms, states to carry), without a decision on the CPU."""
        noisy, clean, rate, enrolment = batch
        network, prefix, kept = choice
        compare = partial(self.objective, sample_rate=rate, discriminator=self.discriminator)
        if kept is None:
            needs_specs = self.objective.needs_specs
            told = _told(network, enrolment)
            enhanced, specs = _enhanced(network, noisy, clean if needs_specs else None, told)
            return *compare(clean=clean, enhanced=enhanced, noisy=noisy, specs=specs), {}
        begin = {}
        for name, state in carried.items():
            if name.startswith(prefix):
                begin[name.removeprefix(prefix)] = _masked(state, kept)
        samples = compared_samples(network, noisy.shape[1], self.carry_state_probability)
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
        return total, terms, after


def compared_samples(network: Network, samples: int, carry_state_probability: float) -> int:
    """Return how many of the samples of a segment `TrainingLoss` compares; 0 of a segment that is
    too short."""
    if not carry_state_probability or not network.streams:
        return samples
    return max(0, samples - samples % network.config.hop_length - network.latency)


def check_look_ahead(frames: Sequence[int], network: Any) -> None:
    """Raise UsageError for a look-ahead in frames that the network does not have."""
    for count in frames:
        try:
            network.at(network.config.sample_rate, count)
        except ValueError as error:
            raise UsageError(f"train.look_ahead: {error}") from error
        except TypeError:  # its `at` takes a sample rate alone
            name = type(network).__name__
            raise UsageError(f"train.look_ahead: {name} has no look-ahead; leave it out") from None


def check_enrolment(mix: MixConfig, plan: TrainConfig, network: Network) -> None:
    """Raise UsageError where the talkers of segments cannot be told to the network."""
    if not mix.enrolment_chance:
        return
    if not getattr(network.config, "talker", False):
        raise UsageError("mix.enrolment_chance: the network adapts to no talker; set model.talker")
    if plan.carry_state_probability or plan.two_grids_share:
        raise UsageError(
            "mix.enrolment_chance: a segment begins with its talker; set "
            "train.carry_state_probability and train.two_grids_share to 0"
        )
    if mix.enrolment_samples % network.config.hop_length:
        hop = network.config.hop_length / network.config.sample_rate
        raise UsageError(f"mix.enrolment = {mix.enrolment}: name whole hops of {hop:g} s")


def least_segment(network: Network, least: int, carry_state_probability: float) -> int:
    """Return the samples of the shortest segment of which `TrainingLoss` compares `least`
    samples."""
    if not carry_state_probability or not network.streams:
        return least
    hop = network.config.hop_length
    return hop * ceil((least + network.latency) / hop)


def _enhanced(
    network: Any, noisy: Tensor, clean: Tensor | None, state: dict[str, Any] | None
) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
    """Return the enhanced signal and, of a network that has specs where `clean` is given, both.

    state: in which a network that streams begins; None: zero.
    """
    if state is not None:
        return network.enhance(noisy, state), None
    if clean is None or not network.has_spec:
        return network.enhance(noisy), None
    enhanced, spec = network.with_spec(noisy)
    return enhanced, (network.analysis(clean), spec)


def _told(network: Any, enrolment: Tensor | None) -> dict[str, Any] | None:
    """Return the state of a network that has been told its talkers, None where it is not."""
    if enrolment is None:
        return None
    return beginning(network, describe(network.at(WIDE_BAND), enrolment))


def _masked(state: Tensor, kept: Tensor) -> Tensor:
    """Return a layer's state (items, ...) or (items * bands, ...), zero but for the items that are
    `kept` (items,)."""
    rows = kept.repeat_interleave(len(state) // len(kept))
    return state * rows.view(-1, *[1] * (state.ndim - 1))
