"""Measure how a talker is kept, and how other talkers are removed while that one is silent.

The clean signal is that of the talker alone; frames are those of energy.py.
"""

import numpy as np

from .energy import HOPS_PER_WINDOW, LIMIT, WINDOW, decibels, frame_powers, pauses_of

SPOKEN = -30.0  # dB below the loudest frame: lowest level of a clean frame that counts as speech
KNOWN = 1.0  # seconds of speech, after which the talker counts as known
SUPPRESSED = -10.0  # dB: a frame of speech that is lowered by more counts as suppressed


def leak(*, clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray, sample_rate: int) -> float:
    """Return by how many dB `enhanced` is below `noisy` in pauses of a talker who is known.

    That is `pause_attenuation` over the pauses after the talker's first second of speech. NaN if
    there are none in which `noisy` has sound.
    """
    x, y, e = frame_powers(sample_rate, clean, noisy, enhanced)
    frame = WINDOW / HOPS_PER_WINDOW
    known = np.cumsum(_spoken(x)) * frame >= KNOWN
    pauses = known & pauses_of(x, y)
    return decibels(y[pauses].sum(), e[pauses].sum())


def over_suppression(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Return the share in percent of the talker's frames of speech that `enhanced` lowers by more
    than 10 dB; 0 to 100, NaN if `clean` is silent.

    After Eskimez et al., "Personalized speech enhancement: new models and comprehensive
    evaluation" (2022), who count frames by a weaker condition. Sound of others in such a frame
    hides what is missing.
    """
    x, e = frame_powers(sample_rate, clean, enhanced)
    spoken = _spoken(x)
    if not spoken.any():
        return np.nan
    return float(100 * (e[spoken] < 10 ** (SUPPRESSED / 10) * x[spoken]).mean())


def _spoken(clean: np.ndarray) -> np.ndarray:
    loudest = clean.max()
    return (clean >= 10 ** (SPOKEN / 10) * loudest) & (loudest > 10 ** (-LIMIT / 10))
