"""Find metrics by name, and score one utterance.

clean     the reference, float (samples,), in [-1, 1]
enhanced  the signal under test, of the same length: a system's output, or the noisy recording itself
noisy     the recording before enhancement, of the same length; a few metrics need it

Every metric is a function of arrays with keyword-only `clean=, enhanced=, sample_rate=`. Most are defined at 16 kHz, as
in "Quaternion Self-Attention with Shared Scores" (Section 4.3): signals at a higher rate are resampled for them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np

from .composite import composite, composite_scaled, segmental_snr
from .energy import UPPER_BAND, band_snr, noise_reduction, pause_attenuation, si_sdr, speech_loss
from .mos import dnsmos
from .perceptual import estoi, pesq_wb, stoi
from .phase import phase_errors

SAMPLE_RATE = 16000


@dataclass(frozen=True)
class Metric:
    """A column of a table: heading, function, digits, and what the function needs.

    function: returns a number, or a dict of several columns that come from one pass over the audio.
    full_band: computed at the rate of the signals, which must be at least `least_rate`; else at 16 kHz.
    may_lack: NaN means that an utterance has no value; it is left out.
    on_request: not part of "all". package: that the function imports, of an extra.
    """

    title: str
    function: Callable[..., float | dict[str, float]]
    digits: int = 2
    needs_clean: bool = True
    needs_noisy: bool = False
    full_band: bool = False
    least_rate: int = SAMPLE_RATE
    may_lack: bool = False
    on_request: bool = False
    package: str = ""


METRICS: dict[str, Metric] = {  # as the paper's columns, Table 2 and Table 3, then others
    "pesq_wb": Metric("PESQ", pesq_wb, 3, package="pesq"),
    "csig": Metric("CSIG", composite, package="pesq"),
    "cbak": Metric("CBAK", composite, package="pesq"),
    "covl": Metric("COVL", composite, package="pesq"),
    "stoi": Metric("STOI", stoi, 4, package="pystoi"),
    "si_sdr": Metric("SI-SDR dB", si_sdr, full_band=True),
    "estoi": Metric("ESTOI", estoi, 4, package="pystoi"),
    "segmental_snr": Metric("SegSNR dB", segmental_snr),
    "dnsmos_ovrl": Metric("OVRL", dnsmos, needs_clean=False, package="speechmos.dnsmos"),
    "dnsmos_sig": Metric("SIG", dnsmos, needs_clean=False, package="speechmos.dnsmos"),
    "dnsmos_bak": Metric("BAK", dnsmos, needs_clean=False, package="speechmos.dnsmos"),
    "dnsmos_p808": Metric("P.808", dnsmos, needs_clean=False, package="speechmos.dnsmos"),
    "noise_reduction": Metric(
        "noise reduction dB", noise_reduction, needs_noisy=True, full_band=True, may_lack=True
    ),
    "speech_loss": Metric(
        "speech loss %", speech_loss, needs_noisy=True, full_band=True, may_lack=True
    ),
    "pause_attenuation": Metric(
        "pauses dB", pause_attenuation, 1, needs_noisy=True, full_band=True, may_lack=True
    ),
    "pause_attenuation_median": Metric(
        "pauses, median dB", pause_attenuation, 1, needs_noisy=True, full_band=True, may_lack=True
    ),
    "band_snr": Metric(
        "8-20 kHz SNR dB",
        band_snr,
        full_band=True,
        least_rate=int(2 * UPPER_BAND[1]),
        may_lack=True,
    ),
    "phase_error": Metric("phase error °", phase_errors, 1, on_request=True),
    "frequency_error": Metric("frequency error Hz", phase_errors, 2, on_request=True),
    "csig_scaled": Metric("CSIG, scaled WSS", composite_scaled, on_request=True, package="pesq"),
    "cbak_scaled": Metric("CBAK, scaled WSS", composite_scaled, on_request=True, package="pesq"),
    "covl_scaled": Metric("COVL, scaled WSS", composite_scaled, on_request=True, package="pesq"),
}
BUILT_IN = frozenset(METRICS)
ALIASES: dict[str, tuple[str, ...]] = {
    "pesq": ("pesq_wb",),
    "wb_pesq": ("pesq_wb",),
    "sisdr": ("si_sdr",),
    "ssnr": ("segmental_snr",),
    "segsnr": ("segmental_snr",),
    "composite": ("csig", "cbak", "covl"),
    "composite_scaled": ("csig_scaled", "cbak_scaled", "covl_scaled"),
    "phase": ("phase_error", "frequency_error"),
    "pauses": ("pause_attenuation", "pause_attenuation_median"),
    "dnsmos": ("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808"),
    "ovrl": ("dnsmos_ovrl",),
    "sig": ("dnsmos_sig",),
    "bak": ("dnsmos_bak",),
    "p808": ("dnsmos_p808",),
}


def add_metric(name: str, metric: Metric) -> None:
    """Add a metric of one's own: `score_pair`, `score`, `evaluate` and their tables then know it by its name.

    Its function has keyword arguments: those of `clean`, `enhanced` and `noisy` that the metric needs, float arrays
    (samples,) of one length, and `sample_rate` in Hz. It returns a number. Raises ValueError for a name that cannot be
    found again, or that another metric has.
    """
    if name != plain_name(name) or not name.isidentifier():
        raise ValueError(f"metric {name!r}: its name must be of lower-case letters, digits and _")
    if name in BUILT_IN or name in ALIASES:
        raise ValueError(f"metric {name!r}: there is one of this name; choose another")
    METRICS[name] = metric


def own_metrics() -> dict[str, Metric]:
    """Return the metrics that were added."""
    return {name: metric for name, metric in METRICS.items() if name not in BUILT_IN}


def plain_name(name: str) -> str:
    """Return the name of a metric as METRICS has it."""
    return name.strip().lower().replace("-", "_").replace(".", "")


def resolve(names: Iterable[str]) -> list[str]:
    """Return the names in METRICS for names and aliases in any case, with - or _. ValueError for an unknown one."""
    found: dict[str, None] = {}
    for name in names:
        plain = plain_name(name)
        if plain not in METRICS and plain not in ALIASES:
            close = get_close_matches(plain, [*METRICS, *ALIASES], 1)
            meant = f"did you mean {close[0]}? " if close else ""
            raise ValueError(f"no metric called {name!r}; {meant}there are {', '.join(METRICS)}")
        found |= dict.fromkeys(ALIASES.get(plain, (plain,)))
    return list(found)


def score_pair(
    *,
    clean: np.ndarray | None = None,
    enhanced: np.ndarray,
    noisy: np.ndarray | None = None,
    sample_rate: int = SAMPLE_RATE,
    metrics: Iterable[str] = ("pesq_wb", "stoi", "si_sdr"),
) -> dict[str, float]:
    """Return the scores of one utterance, {metric: value}, in the order asked for.

    Arrays are float (samples,) of equal length at `sample_rate`, 16 kHz or more; `clean` and `noisy` may be absent for
    metrics that do not need them. Metrics with `may_lack` that have no value for this utterance are left out.
    Raises ValueError for unknown metrics, for arrays that do not fit, and if any other metric has no value.
    """
    names = resolve(metrics)
    given = _checked(names, enhanced, {"clean": clean, "noisy": noisy}, sample_rate)
    at_16khz = cache(lambda role: resampled(given[role], sample_rate, SAMPLE_RATE))
    found: dict[str, float] = {}
    for name in sorted(
        names, key=lambda name: METRICS[name].function is not composite
    ):  # composite returns several
        if name not in found:
            found |= _value(name, given, at_16khz, sample_rate)
    scores = {
        name: found[name]
        for name in names
        if not (METRICS[name].may_lack and np.isnan(found[name]))
    }
    if not np.isfinite(list(scores.values())).all():
        raise ValueError(
            f"{', '.join(name for name in scores if not np.isfinite(scores[name]))}: not a finite number"
        )
    return scores


def resampled(audio: np.ndarray, sample_rate: int, target_rate: int) -> np.ndarray:
    """Return (samples,) at `target_rate`, the array itself if that is its rate."""
    import soxr

    return (
        audio
        if sample_rate == target_rate
        else soxr.resample(audio, sample_rate, target_rate, "VHQ")
    )


def _value(
    name: str,
    signals: dict[str, np.ndarray],
    at_16khz: Callable[[str], np.ndarray],
    sample_rate: int,
) -> dict[str, float]:
    """Return {name: value}, and the other metrics that the same function returns."""
    metric = METRICS[name]
    roles = ["enhanced", *["clean"] * metric.needs_clean, *["noisy"] * metric.needs_noisy]
    if metric.full_band:
        arguments: dict[str, Any] = {role: signals[role] for role in roles} | {
            "sample_rate": sample_rate
        }
    else:
        arguments = {role: at_16khz(role) for role in roles} | {"sample_rate": SAMPLE_RATE}
    value = metric.function(**arguments)
    return value if isinstance(value, dict) else {name: value}


def _checked(
    names: list[str], enhanced: np.ndarray, others: dict[str, np.ndarray | None], sample_rate: int
) -> dict[str, np.ndarray]:
    """Return the signals that the metrics need, by role. ValueError where one is missing or cannot be scored."""
    if sample_rate < SAMPLE_RATE:
        raise ValueError(
            f"metrics need at least {SAMPLE_RATE} Hz, not {sample_rate} Hz; resample the signals first"
        )
    if np.ndim(enhanced) != 1 or np.size(enhanced) == 0:
        raise ValueError(
            f"enhanced must be one channel (samples,), not of shape {np.shape(enhanced)}"
        )
    signals = {"enhanced": enhanced}
    for role, signal in others.items():
        users = [name for name in names if getattr(METRICS[name], f"needs_{role}")]
        if users and signal is None:
            raise ValueError(f"{', '.join(users)}: the {role} signal is missing")
        if users and signal is not None:
            signals[role] = signal
    for role, signal in signals.items():
        if np.shape(signal) != np.shape(enhanced):
            shapes = f"{np.shape(signal)} and {np.shape(enhanced)} samples"
            raise ValueError(f"{role} and enhanced differ in length: {shapes}")
        if not np.isfinite(signal).all():
            raise ValueError(f"{role} holds samples that are not finite")
        if role != "noisy" and not np.any(signal):
            raise ValueError(f"the {role} signal is silent: metrics have no value for it")
    return signals
