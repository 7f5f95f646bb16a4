"""Metrics room: two waveforms in, a number out.

clean     the reference, float (samples,), in [-1, 1]
enhanced  what is judged, of the same length: a system's output, or the noisy recording itself

Every metric is a function of arrays with keyword-only `clean=, enhanced=, sample_rate=`; METRICS names them all.
All of them are judged at 16 kHz, as in "Quaternion Self-Attention with Shared Scores" (Section 4.3).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..extras import need
from .composite import llr, ratings, segmental_snr, wss
from .mos import dnsmos

SAMPLE_RATE = 16000
SI_SDR_LIMIT = 100.0  # dB


def pesq_wb(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = SAMPLE_RATE) -> float:
    """Wide-band PESQ, 1.04 to 4.64 (ITU-T P.862.2, package `pesq`). Raises ValueError where it finds no speech."""
    pesq = need("pesq")
    try:
        return float(pesq.pesq(sample_rate, clean, enhanced, "wb"))
    except (pesq.NoUtterancesError, pesq.BufferTooShortError) as reason:
        raise ValueError(f"PESQ has no score: {_sentence(reason)}") from reason


def stoi(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = SAMPLE_RATE) -> float:
    """Short-time objective intelligibility, about 0 to 1 (Taal et al. 2011, package `pystoi`)."""
    return _intelligibility(clean, enhanced, sample_rate, extended=False)


def estoi(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = SAMPLE_RATE) -> float:
    """Extended STOI, about 0 to 1 (Jensen and Taal 2016, package `pystoi`)."""
    return _intelligibility(clean, enhanced, sample_rate, extended=True)


def si_sdr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = SAMPLE_RATE) -> float:
    """Scale-invariant signal-to-distortion ratio in dB (Le Roux et al. 2019, Eqs. 3-5; no mean is removed).

    The projection of `enhanced` on `clean` against what is left of it, within +-SI_SDR_LIMIT so that a mean over
    utterances stays finite. `sample_rate` is not used.
    """
    clean, enhanced = np.asarray(clean, np.float64), np.asarray(enhanced, np.float64)
    target = clean * (enhanced @ clean) / (clean @ clean)
    rest = enhanced - target
    least = 10 ** (-SI_SDR_LIMIT / 10) * (enhanced @ enhanced)
    return float(10 * np.log10(max(target @ target, least) / max(rest @ rest, least)))


def composite(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = SAMPLE_RATE) -> dict[str, float]:
    """csig, cbak, covl: predicted ratings of speech, background and the whole, 1 to 5 (Hu and Loizou 2008).

    Beside them pesq_wb, llr, wss and segmental_snr, which they are made of.
    """
    measures = {"pesq_wb": pesq_wb, "llr": llr, "wss": wss, "segmental_snr": segmental_snr}
    pair: dict[str, Any] = {"clean": clean, "enhanced": enhanced, "sample_rate": sample_rate}
    parts = {name: measure(**pair) for name, measure in measures.items()}
    return parts | ratings(**parts)


@dataclass(frozen=True)
class Metric:
    """How a column of a table comes about: its heading, its function, and how it is printed.

    `function` gives a number, or a dict of several columns that come from one pass over the audio.
    """

    title: str
    function: Callable[..., float | dict[str, float]]
    digits: int = 2
    needs_clean: bool = True


METRICS: dict[str, Metric] = {  # in the paper's column order: Table 2, then Table 3
    "pesq_wb": Metric("PESQ", pesq_wb, 3),
    "csig": Metric("CSIG", composite),
    "cbak": Metric("CBAK", composite),
    "covl": Metric("COVL", composite),
    "stoi": Metric("STOI", stoi, 4),
    "si_sdr": Metric("SI-SDR dB", si_sdr),
    "estoi": Metric("ESTOI", estoi, 4),
    "segmental_snr": Metric("SegSNR dB", segmental_snr),
    "dnsmos_ovrl": Metric("OVRL", dnsmos, needs_clean=False),
    "dnsmos_sig": Metric("SIG", dnsmos, needs_clean=False),
    "dnsmos_bak": Metric("BAK", dnsmos, needs_clean=False),
    "dnsmos_p808": Metric("P.808", dnsmos, needs_clean=False),
}


def score_pair(
    *,
    clean: np.ndarray | None = None,
    enhanced: np.ndarray,
    sample_rate: int = SAMPLE_RATE,
    metrics: Iterable[str] = ("pesq_wb", "stoi", "si_sdr"),
) -> dict[str, float]:
    """Scores of one utterance: {metric: value} in the order asked for.

    Arrays are float (samples,) of equal length; `clean` may be absent for the metrics that need none.
    Raises ValueError for unknown metrics, for arrays that do not fit, and where a metric has no value.
    """
    names = list(metrics)
    check_names(names)
    _check_arrays(names, clean, enhanced, sample_rate)
    found: dict[str, float] = {}
    for name in sorted(names, key=lambda name: METRICS[name].function is not composite):  # it finds others on its way
        if name not in found:
            reference = {"clean": clean} if METRICS[name].needs_clean else {}
            value = METRICS[name].function(enhanced=enhanced, sample_rate=sample_rate, **reference)
            found |= value if isinstance(value, dict) else {name: value}
    scores = {name: found[name] for name in names}
    if not np.isfinite(list(scores.values())).all():
        raise ValueError(f"{', '.join(name for name in names if not np.isfinite(scores[name]))} came out not finite")
    return scores


def check_names(names: Iterable[str]) -> None:
    """Raises ValueError naming the metrics that exist, if one of `names` does not."""
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise ValueError(f"unknown metric {', '.join(unknown)}; there are {', '.join(METRICS)}")


def _check_arrays(names: list[str], clean: np.ndarray | None, enhanced: np.ndarray, sample_rate: int) -> None:
    if sample_rate != SAMPLE_RATE:
        raise ValueError(f"metrics are computed at {SAMPLE_RATE} Hz, not {sample_rate} Hz; resample both signals first")
    if np.ndim(enhanced) != 1 or len(enhanced) == 0:
        raise ValueError(f"enhanced must be one channel (samples,), not of shape {np.shape(enhanced)}")
    if not np.isfinite(enhanced).all():
        raise ValueError("enhanced holds samples that are not finite")
    if not np.any(enhanced):
        raise ValueError("the enhanced signal is silent: metrics have no value for it")
    if not any(METRICS[name].needs_clean for name in names):
        return
    if clean is None:
        raise ValueError(f"{', '.join(n for n in names if METRICS[n].needs_clean)} need the clean signal")
    if np.shape(clean) != np.shape(enhanced):
        raise ValueError(f"clean and enhanced differ in length: {np.shape(clean)} and {np.shape(enhanced)} samples")
    if not np.isfinite(clean).all():
        raise ValueError("clean holds samples that are not finite")
    if not np.any(clean):
        raise ValueError("the clean signal is silent: metrics against it have no value")


def _intelligibility(clean: np.ndarray, enhanced: np.ndarray, sample_rate: int, extended: bool) -> float:
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Not enough STFT frames", category=RuntimeWarning)
        try:
            return float(need("pystoi").stoi(clean, enhanced, sample_rate, extended=extended))
        except RuntimeWarning as reason:
            raise ValueError("STOI has no score: less than 0.4 s of speech") from reason


def _sentence(reason: Exception) -> str:
    text = reason.args[0] if reason.args else "no reason given"
    return (text.decode() if isinstance(text, bytes) else str(text)).rstrip("!. ")
