"""Compute perceptual metrics of one channel with packages: PESQ, STOI, ESTOI."""

import warnings

import numpy as np

from ..extras import need


def pesq_wb(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000) -> float:
    """Return wide-band PESQ as MOS-LQO, 1.04 to 4.64 (ITU-T P.862.2, package `pesq`), at 16 kHz.

    Raises ValueError if `clean` holds no speech.
    """
    return _pesq(clean, enhanced, sample_rate, "wb")


def pesq_nb(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000) -> float:
    """Return narrow-band PESQ as MOS-LQO, 1.02 to 4.56 (ITU-T P.862.1), at 8 or 16 kHz.

    Raises ValueError if `clean` holds no speech.
    """
    return _pesq(clean, enhanced, sample_rate, "nb")


def _pesq(clean: np.ndarray, enhanced: np.ndarray, sample_rate: int, mode: str) -> float:
    pesq = need("pesq")
    try:
        return float(pesq.pesq(sample_rate, clean, enhanced, mode))
    except (pesq.NoUtterancesError, pesq.BufferTooShortError) as reason:
        raise ValueError(f"PESQ has no score: {_sentence(reason)}") from reason


def stoi(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000) -> float:
    """Return short-time objective intelligibility, about 0 to 1 (Taal et al. 2011, package `pystoi`)."""
    return _intelligibility(clean, enhanced, sample_rate, extended=False)


def estoi(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000) -> float:
    """Return extended STOI, about 0 to 1 (Jensen and Taal 2016, package `pystoi`)."""
    return _intelligibility(clean, enhanced, sample_rate, extended=True)


def _intelligibility(
    clean: np.ndarray, enhanced: np.ndarray, sample_rate: int, extended: bool
) -> float:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Not enough STFT frames", category=RuntimeWarning)
        try:
            return float(need("pystoi").stoi(clean, enhanced, sample_rate, extended=extended))
        except RuntimeWarning as reason:
            raise ValueError("STOI has no score: less than 0.4 s of speech") from reason


def _sentence(reason: Exception) -> str:
    text = reason.args[0] if reason.args else "no reason given"
    return (text.decode() if isinstance(text, bytes) else str(text)).rstrip("!. ")
