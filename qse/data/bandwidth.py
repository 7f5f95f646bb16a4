"""Measure how high the content of a recording reaches: many files at 48 kHz hold less than their
rate allows."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

FULL_BAND_LEAST = 18500.0  # Hz: a recording must reach this to serve as full-band speech or noise
DEPTH = 80.0  # dB below the strongest band
# variance of 16-bit rounding plus 6 dB; power up to this does not count as content
ROUNDING = 4 * 2.0**-30 / 12
BAND = 250.0  # Hz
SECONDS = 60  # of a recording that are analysed


def bandwidth(audio: np.ndarray, sample_rate: int) -> float:
    """Return the highest frequency in Hz at which the average spectrum is within DEPTH of its
    strongest band.

    audio: (samples,) at `sample_rate`, int16 or floats in [-1, 1]; what does not rise above 16-bit
    rounding does not count. Frames of 2048 samples within 40 dB of the loudest are averaged; 0 for
    silence.
    """
    scale = 1 / 32768 if audio.dtype.kind == "i" else 1.0
    audio = audio[: SECONDS * sample_rate].astype(np.float32) * scale
    frames = sliding_window_view(np.pad(audio, (0, max(0, 2048 - len(audio)))), 2048)[::2048]
    energy = np.square(frames).mean(1)
    if not energy.max() > 0:
        return 0.0
    frames = frames[energy >= energy.max() * 1e-4]
    window = np.hanning(2048)
    power = np.square(np.abs(np.fft.rfft(frames * window))).mean(0)
    width = max(1, round(BAND / sample_rate * 2048))
    bands = power[: len(power) // width * width].reshape(-1, width).mean(1)
    least = max(bands.max() * 10 ** (-DEPTH / 10), ROUNDING * np.square(window).sum())
    content = np.flatnonzero(bands >= least)
    return float((content[-1] + 1) * width * sample_rate / 2048) if len(content) else 0.0
