"""Score one utterance.

clean     the reference, float (samples,), in [-1, 1]
enhanced  the signal under test: a system's output, or the noisy recording itself
noisy     the recording before enhancement; a few metrics need it

All have one length. Every metric is a function of arrays with keyword-only `clean=, enhanced=,
sample_rate=`. Most are defined at 16 kHz, as in "Quaternion Self-Attention with Shared Scores"
(Section 4.3): signals at a higher rate are resampled for them, and signals below 16 kHz to 8 kHz.
"""

from collections.abc import Iterable
from numbers import Real

import numpy as np

from ..extras import MissingExtra
from .composite import composite
from .metric_names import Named
from .metrics import BUILT_IN, METRICS
from .named_metrics import resolve
from .signals import SAMPLE_RATE, Signals, as_signal


def score_pair(
    *,
    clean: np.ndarray | None = None,
    enhanced: np.ndarray,
    noisy: np.ndarray | None = None,
    sample_rate: int = SAMPLE_RATE,
    metrics: Iterable[Named] = ("pesq_wb", "stoi", "si_sdr"),
) -> dict[str, float]:
    """Return the scores of one utterance, {metric: value}, in the order asked for.

    Arrays, or tensors of PyTorch, are float (samples,) of equal length at `sample_rate`, 8 kHz or
    more; `clean` and `noisy` may be absent for metrics that do not need them. Metrics with
    `may_lack` that have no value for this utterance are left out.
    Raises ValueError for unknown metrics, for arrays that do not fit, and if any other metric has
    no value; TypeError for what is no array of numbers, and a rate that is no number.
    """
    if not isinstance(sample_rate, Real):
        kind = type(sample_rate).__name__
        raise TypeError(f"sample_rate must be a number in Hz, not {kind}")
    given = {}
    for role, signal in (("clean", clean), ("enhanced", enhanced), ("noisy", noisy)):
        given[role] = None if signal is None else as_signal(role, signal)
    scores, reasons = score_each(resolve(metrics), given, sample_rate)
    for reason in reasons.values():
        raise reason
    return scores


def score_each(
    names: list[str], given: dict[str, np.ndarray | None], sample_rate: int
) -> tuple[dict[str, float], dict[str, Exception]]:
    """Return the scores, {metric: value}, and {metric: reason} of those that failed.

    given: "clean", "enhanced" and "noisy" as for `score_pair`. Raises ValueError for arrays that
    do not fit, MissingExtra for a package that is not installed.
    """
    signals = _signals(names, given, sample_rate)
    found: dict[str, float] = {}
    reasons: dict[str, Exception] = {}
    # `composite`, which returns other metrics too, first
    for name in sorted(names, key=lambda name: METRICS[name].function is not composite):
        if name in found or name in reasons:
            continue
        try:
            found |= _values(name, signals)
        except MissingExtra:
            raise
        except Exception as reason:  # metrics are code of several packages, and of users
            function = METRICS[name].function
            same = [other for other in names if METRICS[other].function is function]
            reasons |= dict.fromkeys(same, reason)

    scores = {}
    for name in names:
        if name not in found or (METRICS[name].may_lack and np.isnan(found[name])):
            continue
        if np.isfinite(found[name]):
            scores[name] = found[name]
        else:
            reasons[name] = ValueError(f"{name}: not a finite number")
    return scores, reasons


def _values(name: str, signals: Signals) -> dict[str, float]:
    """Return {name: value}, and the other metrics that the same function returns."""
    metric = METRICS[name]
    rate = signals.sample_rate if metric.full_band else signals.common_rate
    if signals.sample_rate < metric.least_rate:
        raise ValueError(f"{name} needs at least {metric.least_rate} Hz")

    arguments = {role: signals.at(role, rate) for role in metric.roles}
    if name not in BUILT_IN:  # code of users, which must not change what other metrics get
        arguments = {role: _read_only(signal) for role, signal in arguments.items()}
    value = metric.function(**arguments, sample_rate=rate)
    return value if isinstance(value, dict) else {name: value}


def _read_only(signal: np.ndarray) -> np.ndarray:
    view = signal.view()
    view.flags.writeable = False
    return view


def _signals(names: list[str], given: dict[str, np.ndarray | None], sample_rate: int) -> Signals:
    """Return the signals that the metrics need. ValueError where one is missing or does not fit."""
    needed: dict[str, np.ndarray | None] = {"enhanced": given["enhanced"]}
    for name in names:
        for role in METRICS[name].roles:
            if given[role] is None:
                raise ValueError(f"{name}: the {role} signal is missing")
            needed[role] = given[role]
    return Signals(needed, sample_rate)
