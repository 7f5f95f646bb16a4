"""Sum the terms of a loss with their weights, those of TERMS and one's own alike."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..references import check_parameters, find_named
from .full_band import WIDE_BAND, to_wide_band
from .loss_config import LossConfig
from .terms import OF_MASK, TERMS, LossTerm, Term

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
GIVEN = ("clean", "enhanced", "noisy", "sample_rate")  # to terms of one's own


class _Row(NamedTuple):
    """A term with its name, its weight, and the names of the arguments that it takes."""

    name: str
    weight: float
    term: Term
    arguments: list[str]


class WeightedSum:
    """The weighted sum of the terms of a `LossConfig`, Eq. 70, and of one's own: calling it returns
    (total, its terms).

    own: {name: (weight, term)}. A term is a function, or "package.module:function", with keyword
    arguments, those that it needs of `clean`, `enhanced` and `noisy` (B, N), full scale +-1, and
    `sample_rate` (Hz); it returns a scalar tensor, the mean over the batch. Raises ValueError for a
    name that TERMS has, a weight that is not above 0, other arguments, and a reference to nothing.
    """

    def __init__(
        self,
        config: LossConfig | None = None,
        own: Mapping[str, tuple[float, LossTerm | str]] | None = None,
    ):
        """`config`: None for one's own terms alone."""
        self.config = config
        self.options = config or LossConfig()
        self.own = _named(config) | dict(own or {})
        if config is None and not self.own:
            raise ValueError("no config and no terms: there is no loss to train with")
        self.rows = _built_in(config) if config else []
        self.rows += [_own_row(name, *entry) for name, entry in self.own.items()]

    @property
    def needs_specs(self) -> bool:
        """True if the loss needs the specs of an offline network."""
        return self.config is not None and self.config.needs_specs

    @property
    def needs_discriminator(self) -> bool:
        """True if the loss needs one that is trained as well."""
        return self.config is not None and self.config.discriminator != 0

    def least_samples(self, sample_rate: int) -> int:
        """Return the samples that a segment needs: whole frames of every term; those of one's own
        terms are not known."""
        return max(self._least(row.term, sample_rate) for row in self.rows)

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
        """Return the sum and its terms before weighting, {name: detached scalar}.

        noise_floor needs `noisy`; complex_l1 of the mask needs `specs`, the clean and the enhanced
        one, (B, 2, T, F); discriminator needs a loss of that name, which is trained as well.
        Computed in the precision of `clean`, also under autocast.
        """
        signals = {"clean": clean, "enhanced": enhanced.to(clean.dtype), "noisy": noisy}
        views = _Views(self.options, signals, sample_rate, specs)
        total = clean.new_zeros(())
        values: dict[str, Tensor] = {}
        with torch.autocast(clean.device.type, enabled=False):
            for name, weight, term, arguments in self.rows:
                if term.above and sample_rate <= term.above:
                    continue
                function = term.function or discriminator
                if function is None:
                    needed = "needs the loss of one that is trained as well"
                    raise ValueError(f"the term {name} {needed}")
                given = views.of(term.of)
                if "noisy" in arguments and given["noisy"] is None:
                    raise ValueError(f"the term {name} needs the noisy signal")
                value = function(**{key: given[key] for key in arguments})
                _check_value(name, value, enhanced.requires_grad)
                if term.decibels:
                    value = value / self.options.si_sdr_unit
                total = total + weight * value
                values[name] = value.detach()
        return total, values

    def _least(self, term: Term, sample_rate: int) -> int:
        ratio = sample_rate / WIDE_BAND
        if term.seconds:
            return round(term.seconds * sample_rate)
        if term.least == "stft":  # the ends are reflected by half a window
            return round(ratio * self.options.n_fft) // 2 + 1
        return max(1, int(ratio)) * term.least if term.of == "low" else term.least


class _Views:
    """The arguments of terms by what they are of, computed once."""

    def __init__(
        self,
        options: LossConfig,
        signals: dict[str, Any],
        sample_rate: int,
        specs: tuple[Tensor, Tensor] | None,
    ):
        ratio = sample_rate / WIDE_BAND  # a window of a duration sums as many more samples
        self.signals = signals
        self.ratio = ratio
        self.specs = specs
        self.options = {
            "sample_rate": sample_rate,
            "n_fft": round(ratio * options.n_fft),
            "hop_length": round(ratio * options.hop_length),
        }
        self.made: dict[str, dict[str, Any]] = {}

    def of(self, name: str) -> dict[str, Any]:
        """Return the arguments of a term of these signals."""
        if name not in self.made:
            self.made[name] = {**self._signals(name), **self.options}
        return self.made[name]

    def _signals(self, name: str) -> dict[str, Any]:
        if name == "specs":
            if self.specs is None:
                raise ValueError("complex_l1_of mask needs the specs of an offline network")
            clean, enhanced = self.specs
            return {"clean": clean, "enhanced": enhanced.to(clean.dtype)}
        changed = {}
        for key, x in self.signals.items():
            if x is not None and name == "low" and self.ratio >= 2:
                x = to_wide_band(x, self.options["sample_rate"])
            elif x is not None and name == "scaled" and self.ratio != 1:
                x = x / self.ratio
            changed[key] = x
        return changed


def as_loss(loss: "LossConfig | WeightedSum | LossTerm") -> WeightedSum:
    """Return a loss as a `WeightedSum`: one, the terms of a config, or a single function."""
    if isinstance(loss, WeightedSum):
        return loss
    if isinstance(loss, LossConfig):
        return WeightedSum(loss)
    return WeightedSum(own={getattr(loss, "__name__", "own"): (1.0, loss)})


def _built_in(config: LossConfig) -> list[_Row]:
    """Return the rows of TERMS that have a weight."""
    rows = []
    for name, term in TERMS.items():
        weight = getattr(config, name)
        if weight == 0:
            continue
        if name == "complex_l1" and config.needs_specs:
            term = OF_MASK
        arguments = ["clean", "enhanced"]
        if term.function:
            options = (*GIVEN, "n_fft", "hop_length")
            arguments = [key for key in signature(term.function).parameters if key in options]
        rows.append(_Row(name, weight, term, arguments))
    return rows


def _named(config: LossConfig | None) -> dict[str, tuple[float, LossTerm | str]]:
    """Return the terms of one's own that a config names, each by the name behind the colon."""
    found: dict[str, tuple[float, LossTerm | str]] = {}
    for reference, weight in (config.own if config else {}).items():
        name = reference.rpartition(":")[2]
        if name in found:
            raise ValueError(f"two loss terms are called {name!r}: rename one")
        if weight:
            found[name] = (weight, reference)
    return found


def _own_row(name: str, weight: float, function: LossTerm | str) -> _Row:
    """Return the row of a term of one's own. Raises ValueError for one that cannot be called."""
    if name in LOGGED:
        raise ValueError(f"loss term {name!r}: curves have a column of this name; choose another")
    if hasattr(LossConfig, name):
        raise ValueError(f"loss term {name!r}: a term of LossConfig has this name; choose another")
    if isinstance(function, str):
        function = find_named(function, TERMS, "loss term")
    if not callable(function):
        raise ValueError(f"loss term {name!r}: is no function")
    if not weight > 0:
        raise ValueError(f"loss term {name!r}: its weight is {weight}, and must be above 0")
    check_parameters(function, GIVEN, f"loss term {name!r}")
    parameters = signature(function).parameters
    return _Row(name, weight, Term(function), [key for key in parameters if key in GIVEN])


def _check_value(name: str, value: object, trains: bool) -> None:
    """Raise ValueError for what a term must not return."""
    if not isinstance(value, Tensor) or value.ndim:
        found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        mean = "the mean over the batch as a scalar tensor"
        raise ValueError(f"loss term {name!r} returns {found}: return {mean}")
    if trains and not value.requires_grad:
        cure = "compute it from `enhanced` with operators of torch"
        raise ValueError(f"loss term {name!r} has no gradient: {cure}")
