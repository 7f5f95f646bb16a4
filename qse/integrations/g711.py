"""Decode and encode G.711, the 8-bit samples of telephone calls, by tables (ITU-T G.711, G.191).

    from qse.integrations.g711 import A_LAW, MU_LAW
    samples = MU_LAW.decode(payload)      # float32 in [-1, 1), mostly at 8 kHz
    payload = MU_LAW.encode(samples)

RTP calls them PCMU (mu-law) and PCMA (A-law): a sign, 3 bits of an exponent and 4 of a mantissa.
"""

from collections.abc import Callable

import numpy as np

__all__ = ["A_LAW", "MU_LAW", "Law"]

FULL_SCALE = 32768
BIAS = 132  # of mu-law: a segment begins at a power of two when it is added
LOUDEST = 32635  # magnitude beyond which mu-law clips
CODES = np.arange(256)
MAGNITUDES = np.arange(FULL_SCALE)

Magnitudes = Callable[[np.ndarray], np.ndarray]


class Law:
    """Convert between the codes of a companding law and samples; one byte per sample.

    levels: (256,) int16, the sample of each code. codes: (65536,) uint8, the code of each sample
    from -32768 up.
    """

    width = 1  # bytes of a sample

    def __init__(self, name: str, mask: int, magnitudes: Magnitudes, code_of: Magnitudes):
        """`mask`: the bits that are turned in a code as it is sent, so that its highest bit is 1
        for samples from 0 up, and the lower ones count up with their magnitude.

        magnitudes: of the codes 0 to 127; code_of: the code of a magnitude from 0 to 32767.
        """
        self.name = name
        plain = CODES ^ mask
        size = magnitudes(plain & 127)
        self.levels = np.where(plain & 128, size, -size).astype(np.int16)
        above = 128 | code_of(MAGNITUDES)
        below = code_of(MAGNITUDES)[::-1]  # of -1 - magnitude
        self.codes = (np.concatenate([below, above]) ^ mask).astype(np.uint8)
        self._samples = self.levels.astype(np.float32) / FULL_SCALE

    def __repr__(self) -> str:
        return f"Law({self.name!r})"

    def decode(self, payload: bytes) -> np.ndarray:
        """Return the samples of `payload`, bytes of one code each: (samples,) float32 in
        [-1, 1)."""
        return self._samples[np.frombuffer(payload, np.uint8)]

    def encode(self, samples: np.ndarray) -> bytes:
        """Return the codes of finite `samples` (samples,), floats; those beyond [-1, 1) clip."""
        return self.codes[rounded(samples).astype(np.int64) + FULL_SCALE].tobytes()


def rounded(samples: np.ndarray) -> np.ndarray:
    """Return floats in [-1, 1) as int16; what is beyond clips."""
    scaled = np.rint(FULL_SCALE * samples)
    return scaled.clip(-FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def _mu_magnitudes(code: np.ndarray) -> np.ndarray:
    exponent = code >> 4
    mantissa = code & 15
    return ((8 * mantissa + BIAS) << exponent) - BIAS


def _mu_code(magnitude: np.ndarray) -> np.ndarray:
    biased = magnitude.clip(max=LOUDEST) + BIAS
    exponent = _bits(biased) - 8
    mantissa = (biased >> (exponent + 3)) & 15
    return 16 * exponent + mantissa


def _a_magnitudes(code: np.ndarray) -> np.ndarray:
    exponent = code >> 4
    mantissa = code & 15
    normal = (16 * mantissa + 264) << (np.maximum(exponent, 1) - 1)
    return np.where(exponent, normal, 16 * mantissa + 8)


def _a_code(magnitude: np.ndarray) -> np.ndarray:
    exponent = np.maximum(_bits(magnitude) - 8, 0)
    mantissa = (magnitude >> (np.maximum(exponent, 1) + 3)) & 15
    return 16 * exponent + mantissa


def _bits(number: np.ndarray) -> np.ndarray:
    """Return the number of binary digits of integers; 0 for 0."""
    return np.frexp(number)[1]


MU_LAW = Law("mu-law", 127, _mu_magnitudes, _mu_code)
A_LAW = Law("a-law", 85, _a_magnitudes, _a_code)
