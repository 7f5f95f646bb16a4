"""Strength: how far noise is pushed down."""

import numpy as np


def kept_share(strength: float | None) -> np.float32:
    """How much of the noisy signal stays where noise is pushed down by `strength` dB at most; None: nothing.

    ValueError if it is not a number from 0 up.
    """
    if strength is not None and not strength >= 0:
        raise ValueError(f"strength is a number of dB from 0 up, not {strength}")
    return np.float32(0 if strength is None else 10 ** (-strength / 20))
