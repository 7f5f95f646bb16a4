"""Limit the attenuation of the noise to a number of dB (option --strength).

With a limit of D dB the output is (1 - g) * enhanced + g * noisy, where g = 10^(-D / 20) is the
noisy share.
"""

from numbers import Real

import numpy as np


def noisy_share(strength: float | None) -> float:
    """Return the share g of the noisy signal in the output for a limit of `strength` dB; None
    (no limit) gives 0.

    Raises TypeError if `strength` is no number, ValueError if it is below 0.
    """
    if strength is None:
        return 0.0
    if not isinstance(strength, Real):
        raise TypeError(f"strength must be a number of dB or None, not {type(strength).__name__}")
    if not strength >= 0:
        raise ValueError(f"strength must be a number of dB from 0 up, not {strength}")
    return float(10 ** (-float(strength) / 20))


def mixed(enhanced: np.ndarray, noisy: np.ndarray, share: float) -> np.ndarray:
    """Return (1 - share) * enhanced + share * noisy, both aligned and of equal shape; float32."""
    kept = np.float32(share)
    return enhanced if not kept else (1 - kept) * enhanced + kept * noisy
