"""Compute errors of phase: of the phase itself, and of the instantaneous frequency.

X and E are the STFTs of clean and enhanced (Hann window of 32 ms every 8 ms). A phase is weighted
by the magnitude of the clean signal, so that bins without speech do not count.
"""

import numpy as np

from .energy import HOPS_PER_WINDOW, WINDOW, spectra


def phase_errors(
    *, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000
) -> dict[str, float]:
    """Return the mean errors of the phase in degrees and of the instantaneous frequency in Hz.

    phase_error: sum w |arg(E X*)| / sum w, w = |X|; 90 for unrelated noise. frequency_error: the
    same of the advance of E X* from frame to frame, w the square root of both magnitudes, as a
    frequency; about 22 for unrelated noise, because frames overlap; a constant shift of phase does
    not count. Bins in which E is 0 are left out; NaN if there are no others.
    """
    phase = _WeightedMean()
    advance = _WeightedMean()
    weight_before: np.ndarray | None = None
    cross_before: np.ndarray | None = None
    for x, e in spectra(sample_rate, clean, enhanced):
        cross = e * x.conj()
        weight = np.abs(x) * (e != 0)
        phase.add(np.abs(np.angle(cross)), weight)
        if cross_before is not None and weight_before is not None:
            cross = np.concatenate([cross_before, cross])
            weight = np.concatenate([weight_before, weight])
        turn = np.angle(cross[1:] * cross[:-1].conj())
        advance.add(np.abs(turn), np.sqrt(weight[1:] * weight[:-1]))
        cross_before = cross[-1:]
        weight_before = weight[-1:]

    hop = WINDOW / HOPS_PER_WINDOW  # seconds
    return {
        "phase_error": float(np.degrees(phase.mean())),
        "frequency_error": advance.mean() / (2 * np.pi * hop),
    }


class _WeightedMean:
    """The weighted mean of several arrays."""

    def __init__(self) -> None:
        self.total = 0.0
        self.weights = 0.0

    def add(self, values: np.ndarray, weights: np.ndarray) -> None:
        self.total += float((values * weights).sum())
        self.weights += float(weights.sum())

    def mean(self) -> float:
        return self.total / self.weights if self.weights else np.nan
