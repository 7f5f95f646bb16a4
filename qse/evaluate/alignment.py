"""Bring the signals of an utterance to one time and one length.

A system may delay its output by a constant, or give some samples more or less than it was given.
"""

from dataclasses import dataclass

import numpy as np

LONGEST_DELAY = 1.0  # seconds
TOLERANCE = 0.032  # seconds by which lengths may differ: a frame of the usual STFT


@dataclass(frozen=True)
class Aligned:
    """Signals of one length. trimmed: samples by which the longest one was longer."""

    clean: np.ndarray | None
    noisy: np.ndarray
    enhanced: np.ndarray
    trimmed: int


def peak_of(signal: np.ndarray, reference: np.ndarray, sample_rate: int) -> tuple[int, float]:
    """Return the delay of `signal` in samples, and the correlation coefficient there, which is
    negative for inverted polarity."""
    most = min(round(LONGEST_DELAY * sample_rate), len(reference) - 1)
    n_fft = 1 << (max(len(signal), len(reference)) + most).bit_length()
    product = np.fft.rfft(signal, n_fft) * np.conj(np.fft.rfft(reference, n_fft))
    correlation = np.fft.irfft(product, n_fft)
    lags = np.arange(-most, most + 1)
    delay = int(lags[np.argmax(np.abs(correlation[lags]))])
    energy = np.sum(np.square(signal)) * np.sum(np.square(reference))
    return delay, float(correlation[delay] / np.sqrt(energy)) if energy > 0 else 0.0


def align(
    clean: np.ndarray | None,
    noisy: np.ndarray,
    enhanced: np.ndarray,
    *,
    sample_rate: int,
    delay: int = 0,
    strict: bool = False,
) -> Aligned:
    """Move `enhanced` ahead by `delay` samples, and cut all signals to the length of the shortest.

    Raises ValueError if their lengths differ by more than TOLERANCE, or at all if `strict`; a
    delayed signal may have the length of the others or be longer by its delay.
    """
    lengths = {"noisy": len(noisy), "enhanced": len(enhanced)}
    if clean is not None:
        lengths["clean"] = len(clean)
    extra = len(enhanced) - len(noisy)
    if abs(extra - delay) < abs(extra):  # the output holds its delay in addition
        lengths["enhanced"] -= delay
    trimmed = max(lengths.values()) - min(lengths.values())
    if trimmed > (0 if strict else TOLERANCE * sample_rate):
        raise ValueError(_difference(lengths, sample_rate, strict))

    if delay > 0:
        enhanced = enhanced[delay:]
    if delay < 0:
        noisy = noisy[-delay:]
        clean = None if clean is None else clean[-delay:]

    length = min(len(noisy), len(enhanced))
    if clean is not None:
        length = min(length, len(clean))
        clean = clean[:length]
    return Aligned(clean, noisy[:length], enhanced[:length], trimmed)


def _difference(lengths: dict[str, int], sample_rate: int, strict: bool) -> str:
    """Return the message for lengths that differ too much."""
    counts = [f"{name} has {samples} samples" for name, samples in lengths.items()]
    limit = "" if strict else f", by more than {1000 * TOLERANCE:g} ms"
    cure = "align and cut them to equal length"
    return f"lengths differ at {sample_rate} Hz{limit}: {', '.join(counts)}; {cure}"
