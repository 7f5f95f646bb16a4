"""Compare the clock and the polarity of an output with those of its reference.

An output that was recorded or converted by another clock comes later and later, or earlier and
earlier: it has no constant delay.
"""

from dataclasses import dataclass

import numpy as np

from .alignment import peak_of

WINDOW = 1.0  # seconds that are compared at a time
MOST_DRIFT = 500e-6  # of clocks that are found
LEAST_DRIFT = 3e-4  # seconds from the first to the last window that count as drift
LIKENESS = 0.5  # least correlation coefficient of windows that say something
OPPOSITE = -0.3  # highest one of an output with inverted polarity
SPREAD = 1e-4  # seconds by which the windows differ from a straight line, in the median, at most


@dataclass(frozen=True)
class Timing:
    """The time of an output relative to its reference.

    delay: in samples, negative if it comes before. drift: by how much it comes later per second, in
    millionths; None if its clock is that of the reference, or too little is alike to say.
    """

    delay: int
    drift: float | None
    is_inverted: bool


def timing_of(output: np.ndarray, reference: np.ndarray, sample_rate: int) -> Timing:
    """Return delay, drift and polarity of `output` (samples,)."""
    delay, likeness = peak_of(output, reference, sample_rate)
    drift = _drift(output, reference, sample_rate, delay)
    return Timing(delay, drift, likeness < OPPOSITE)


def _drift(output: np.ndarray, reference: np.ndarray, sample_rate: int, delay: int) -> float | None:
    """Return the slope of the delays of all windows, where they lie on a line."""
    length = round(WINDOW * sample_rate)
    most = round(MOST_DRIFT * len(reference)) + 8  # samples around the delay of the whole
    times = []
    delays = []
    for start in range(0, len(reference) - length + 1, length):
        place = start + delay - most
        if place < 0 or place + length + 2 * most > len(output):
            continue
        part = output[place : place + length + 2 * most]
        found, likeness = _place_of(reference[start : start + length], part)
        if likeness > LIKENESS:
            times.append(start / sample_rate)
            delays.append((delay - most + found) / sample_rate)
    if len(times) < 3:
        return None

    slope = _slope(np.array(times), np.array(delays))
    rest = np.array(delays) - slope * np.array(times)
    is_line = np.median(np.abs(rest - np.median(rest))) < SPREAD
    span = abs(slope) * (times[-1] - times[0])
    return 1e6 * slope if is_line and span > LEAST_DRIFT else None


def _place_of(window: np.ndarray, part: np.ndarray) -> tuple[int, float]:
    """Return where in `part` a window is found, and its correlation coefficient there, without
    sign."""
    n_fft = 1 << (len(part) + len(window)).bit_length()
    product = np.fft.rfft(part, n_fft) * np.conj(np.fft.rfft(window, n_fft))
    correlation = np.abs(np.fft.irfft(product, n_fft)[: len(part) - len(window) + 1])
    place = int(np.argmax(correlation))
    energy = np.sum(np.square(part[place : place + len(window)])) * np.sum(np.square(window))
    return place, float(correlation[place] / np.sqrt(energy)) if energy > 0 else 0.0


def _slope(times: np.ndarray, values: np.ndarray) -> float:
    """Return the median slope between all pairs of points (Theil 1950; Sen 1968)."""
    first, second = np.triu_indices(len(times), 1)
    return float(np.median((values[second] - values[first]) / (times[second] - times[first])))
