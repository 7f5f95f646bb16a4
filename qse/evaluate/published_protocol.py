"""Score as the code of "Quaternion Self-Attention with Shared Scores" (Yamauchi et al. 2026) does.

That code prepares an output before it scores it: an output with a negative correlation to the clean
signal changes its sign, and is cut at the peak of the noisy one, by which its network's input is
divided. PESQ and the composite measures take it at the RMS of the clean signal, cut at full scale;
STOI takes it as it is; SI-SDR takes both signals without their means.
"""

import numpy as np

from .composite import composite
from .energy import si_sdr
from .perceptual import stoi

LEAST_POWER = 1e-10  # added to the mean squares whose quotient is the gain


def composite_published(
    *, clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray, sample_rate: int
) -> dict[str, float]:
    """Return csig_published, cbak_published, covl_published and pesq_wb_published."""
    levelled = _levelled(clean, _turned(clean, enhanced, noisy))
    found = composite(clean=clean, enhanced=levelled, sample_rate=sample_rate)
    return {f"{name}_published": found[name] for name in ("csig", "cbak", "covl", "pesq_wb")}


def stoi_published(
    *, clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray, sample_rate: int
) -> float:
    """Return the short-time objective intelligibility."""
    turned = _turned(clean, enhanced, noisy)
    return stoi(clean=clean, enhanced=turned, sample_rate=sample_rate)


def si_sdr_published(
    *, clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray, sample_rate: int
) -> float:
    """Return the scale-invariant signal-to-distortion ratio in dB, means removed."""
    turned = _turned(clean, enhanced, noisy)
    return si_sdr(clean=clean - clean.mean(), enhanced=turned - turned.mean())


def _turned(clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    """Return the output with the sign of the clean signal, cut at the peak of the noisy one."""
    covariance = np.dot(clean - clean.mean(), enhanced - enhanced.mean())
    peak = np.abs(noisy).max()
    return np.clip(-enhanced if covariance < 0 else enhanced, -peak, peak)


def _levelled(clean: np.ndarray, enhanced: np.ndarray) -> np.ndarray:
    """Return the output at the RMS of the clean signal, cut at full scale."""
    power = np.mean(np.square(clean)) + LEAST_POWER
    gain = np.sqrt(power / (np.mean(np.square(enhanced)) + LEAST_POWER))
    return np.clip(gain * enhanced, -1, 1)
