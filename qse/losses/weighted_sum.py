"""Sum the terms of a loss with their weights, those of TERMS and one's own alike."""

from collections.abc import Mapping
from typing import Any

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
        self.options = config or LossConfig()
        self.terms: dict[str, tuple[float, Term]] = _built_in(config) if config else {}
        for name, (weight, function) in {**_named(config), **(own or {})}.items():
            self.terms[name] = weight, _own_term(name, weight, function)
        if not self.terms:
            raise ValueError("no config and no terms: there is no loss to train with")

    @property
    def needs_specs(self) -> bool:
        """True if the loss needs the specs of an offline network."""
        return any(term.of == "specs" for _, term in self.terms.values())

    @property
    def needs_discriminator(self) -> bool:
        """True if the loss needs one that is trained as well."""
        return "discriminator" in self.terms

    def least_samples(self, sample_rate: int) -> int:
        """Return the samples that a segment needs: whole frames of every term; those of one's own
        terms are not known."""
        factors = {"low": max(1, sample_rate // WIDE_BAND)}
        least = [term.least * factors.get(term.of, 1) for _, term in self.terms.values()]
        if any(term.of == "scaled" for _, term in self.terms.values()):
            least.append(self._window(sample_rate)["n_fft"] // 2 + 1)  # the ends are reflected
        return max(least)

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
        views: dict[str, dict[str, Any]] = {}  # by what terms are of, computed once
        total = clean.new_zeros(())
        values: dict[str, Tensor] = {}
        with torch.autocast(clean.device.type, enabled=False):
            for name, (weight, term) in self.terms.items():
                if term.above and sample_rate <= term.above:
                    continue
                function = term.function or discriminator
                if function is None:
                    needed = "needs the loss of one that is trained as well"
                    raise ValueError(f"the term {name} {needed}")
                if term.of not in views:
                    views[term.of] = self._view(term.of, signals, specs, sample_rate)
                value = function(**_arguments(name, term, views[term.of]))
                _check_value(name, value, enhanced.requires_grad)
                if term.decibels:
                    value = value / self.options.si_sdr_unit
                total = total + weight * value
                values[name] = value.detach()
        return total, values

    def _view(
        self,
        of: str,
        signals: dict[str, Tensor | None],
        specs: tuple[Tensor, Tensor] | None,
        rate: int,
    ) -> dict[str, Any]:
        """Return the arguments that there are for terms of these signals."""
        if of == "specs":
            if specs is None:
                raise ValueError("complex_l1_of mask needs the specs of an offline network")
            clean, enhanced = specs
            return {"clean": clean, "enhanced": enhanced.to(clean.dtype)}
        given: dict[str, Any] = {**signals, "sample_rate": rate}
        if of == "scaled":
            given |= self._window(rate)
        for name, x in signals.items():
            if x is not None and of == "low" and rate >= 2 * WIDE_BAND:
                given[name] = to_wide_band(x, rate)
            elif x is not None and of == "scaled" and rate != WIDE_BAND:
                given[name] = x / (rate / WIDE_BAND)
        return given

    def _window(self, rate: int) -> dict[str, int]:
        """Return the STFT of the config at a rate; a window of its duration sums as many more
        samples."""
        ratio = rate / WIDE_BAND
        n_fft = round(ratio * self.options.n_fft)
        return {"n_fft": n_fft, "hop_length": round(ratio * self.options.hop_length)}


def as_loss(loss: "LossConfig | WeightedSum | LossTerm") -> WeightedSum:
    """Return a loss as a `WeightedSum`: one, the terms of a config, or a single function."""
    if isinstance(loss, WeightedSum):
        return loss
    if isinstance(loss, LossConfig):
        return WeightedSum(loss)
    return WeightedSum(own={getattr(loss, "__name__", "own"): (1.0, loss)})


def _built_in(config: LossConfig) -> dict[str, tuple[float, Term]]:
    """Return the terms of TERMS that have a weight."""
    of_mask = {"complex_l1": OF_MASK} if config.complex_l1_of == "mask" else {}
    terms = TERMS | of_mask
    weights = {name: getattr(config, name) for name in terms}
    return {name: (weight, terms[name]) for name, weight in weights.items() if weight}


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


def _own_term(name: str, weight: float, function: LossTerm | str) -> Term:
    """Return a term of one's own. Raises ValueError for one that cannot be called."""
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
    return Term(function)


def _arguments(name: str, term: Term, given: dict[str, Any]) -> dict[str, Any]:
    """Return those of the arguments that the function of a term takes."""
    taken = {key: given[key] for key in term.arguments if key in given}
    if "noisy" in taken and taken["noisy"] is None:
        raise ValueError(f"the term {name} needs the noisy signal")
    return taken


def _check_value(name: str, value: object, trains: bool) -> None:
    """Raise ValueError for what a term must not return."""
    if not isinstance(value, Tensor) or value.ndim:
        found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        mean = "the mean over the batch as a scalar tensor"
        raise ValueError(f"loss term {name!r} returns {found}: return {mean}")
    if trains and not value.requires_grad:
        cure = "compute it from `enhanced` with operators of torch"
        raise ValueError(f"loss term {name!r} has no gradient: {cure}")
