"""Add loss terms of one's own to those of a `LossConfig`."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from .composite import LossConfig, composite, least_samples
from .full_band import WIDE_BAND

LossTerm = Callable[..., Tensor]
# columns of the curves of a run, and what is summed for them
LOGGED = (
    "loss",
    "norm",
    "rate",
    "step",
    "steps",
    "skipped",
    "audio",
    "seconds",
    "audio_hours",
    "train_hours",
    "passed",
)
GIVEN = ("clean", "enhanced", "noisy", "sample_rate")


class CompositeLoss:
    """The weighted sum of the terms of a `LossConfig` and of one's own: calling it returns
    (total, its terms).

    own: {name: (weight, term)}. A term is a function with keyword arguments, those that it needs of
    `clean`, `enhanced` and `noisy` (B, N), full scale +-1, and `sample_rate` (Hz); it returns a
    scalar tensor, the mean over the batch. Raises ValueError for a name that a `LossConfig` has, a
    weight that is not above 0, and other arguments.
    """

    def __init__(
        self,
        config: LossConfig | None = None,
        own: Mapping[str, tuple[float, LossTerm]] | None = None,
    ):
        """`config`: None for one's own terms alone."""
        self.config = config
        self.own = dict(own or {})
        if config is None and not self.own:
            raise ValueError("no config and no terms: there is no loss to train with")
        self._arguments = {name: _checked(name, *entry) for name, entry in self.own.items()}

    @property
    def needs_specs(self) -> bool:
        """True if the loss needs the specs of an offline network."""
        return self.config is not None and self.config.needs_specs

    @property
    def needs_discriminator(self) -> bool:
        """True if the loss needs one that is trained as well."""
        return self.config is not None and self.config.discriminator != 0

    def least_samples(self, sample_rate: int) -> int:
        """Return the samples that a segment needs for the terms of the config; those of one's own
        are not known."""
        return least_samples(self.config, sample_rate) if self.config else 1

    def __call__(
        self,
        *,
        clean: Tensor,
        enhanced: Tensor,
        noisy: Tensor | None = None,
        sample_rate: int = WIDE_BAND,
        specs: tuple[Tensor, Tensor] | None = None,
        discriminator: LossTerm | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the sum and its terms before weighting, {name: detached scalar};
        see `composite`."""
        signals: dict[str, Any] = {"clean": clean, "enhanced": enhanced, "noisy": noisy}
        total = clean.new_zeros(())
        terms: dict[str, Tensor] = {}
        if self.config:
            total, terms = composite(
                self.config,
                **signals,
                sample_rate=sample_rate,
                specs=specs,
                discriminator=discriminator,
            )
        given = {**signals, "enhanced": enhanced.to(clean.dtype), "sample_rate": sample_rate}
        for name, (weight, term) in self.own.items():
            with torch.autocast(clean.device.type, enabled=False):
                value = term(**{key: given[key] for key in self._arguments[name]})
            _check_value(name, value, enhanced.requires_grad)
            total = total + weight * value
            terms[name] = value.detach()
        return total, terms


def as_loss(loss: "LossConfig | CompositeLoss | LossTerm") -> CompositeLoss:
    """Return a loss as a `CompositeLoss`: one, the terms of a config, or a single function."""
    if isinstance(loss, CompositeLoss):
        return loss
    if isinstance(loss, LossConfig):
        return CompositeLoss(loss)
    return CompositeLoss(own={getattr(loss, "__name__", "own"): (1.0, loss)})


def _check_value(name: str, value: object, trains: bool) -> None:
    """Raise ValueError for what a term must not return."""
    if not isinstance(value, Tensor) or value.ndim:
        found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        mean = "the mean over the batch as a scalar tensor"
        raise ValueError(f"loss term {name!r} returns {found}: return {mean}")
    if trains and not value.requires_grad:
        cure = "compute it from `enhanced` with operators of torch"
        raise ValueError(f"loss term {name!r} has no gradient: {cure}")


def _checked(name: str, weight: float, term: LossTerm) -> list[str]:
    """Return the names of the arguments of a term.

    Raises ValueError for a term that cannot be called.
    """
    if name in LOGGED:
        raise ValueError(f"loss term {name!r}: curves have a column of this name; choose another")
    if hasattr(LossConfig, name):
        raise ValueError(f"loss term {name!r}: a term of LossConfig has this name; choose another")
    if not weight > 0:
        raise ValueError(f"loss term {name!r}: its weight is {weight}, and must be above 0")
    arguments = list(signature(term).parameters)
    required = []
    for key, value in signature(term).parameters.items():
        if value.default is value.empty:
            required.append(key)
    unknown = set(required) - set(GIVEN)
    if unknown:
        raise ValueError(f"loss term {name!r} needs {min(unknown)!r}: there are {', '.join(GIVEN)}")
    return [key for key in arguments if key in GIVEN]
