"""Convert the sample rate of a stream with a short, known delay and a variable ratio.

Converter: a Kaiser-windowed sinc (a sum over 2 * half input samples per output sample), tabulated
at PHASES positions between two samples, with linear interpolation: errors stay below -90 dB. Its
delay is `half`, 2 ms at 16 kHz; soxr, which processes Fourier blocks, keeps back up to 58 ms
(`resample.py` uses it for whole signals).
"""

from math import ceil

import numpy as np

CROSSINGS = 32  # of the sinc, on each side
BETA = 8.0  # of the Kaiser window: 80 dB
CUTOFF = 0.955  # of the lower band: flat to 0.89, -6 dB at 0.955
PHASES = 512  # between two samples of the lower rate


class Converter:
    """Convert a stream of samples from one rate to another, with a short delay.

    `delay`: seconds by which the output lags the input. `stretch`: fraction by which more samples
    come out than by the ratio of the rates (1e-6 is one ppm); may be set before any block.
    """

    def __init__(self, source_rate: float, target_rate: float, phase: float = 0.25):
        """`phase`: position of the first output sample, in input samples; not an integer, where
        rounding would show."""
        self.stretch = 0.0
        self._step = source_rate / target_rate
        self._half = ceil(CROSSINGS * max(1.0, self._step))
        self._table = _table(
            self._half, min(1.0, 1 / self._step), ceil(PHASES / max(1.0, self._step))
        )
        self._slope = np.diff(self._table, axis=0)
        # the samples that are still needed, oldest first
        self._line = np.zeros(2 * self._half, np.float32)
        self._at = self._half + phase  # position of the next output sample in `_line`
        self.delay = (self._half - phase) / source_rate

    def process(self, block: np.ndarray) -> np.ndarray:
        """Take the next samples (samples,); return all output samples that they complete,
        float32."""
        line = np.concatenate([self._line, block])
        step = self._step / (1 + self.stretch)
        count = max(0, ceil((len(line) - self._half - self._at) / step))
        at = self._at + step * np.arange(count + 1)
        if count and at[count - 1] >= len(line) - self._half:  # the division was rounded up
            count -= 1
        before = at[:count].astype(np.int64)  # the input sample before each output sample
        out = self._sum(line, before - self._half + 1, at[:count] - before)
        used = int(at[count]) - self._half + 1
        self._line = line[used:]
        self._at = at[count] - used
        return out

    def _sum(self, line: np.ndarray, start: np.ndarray, between: np.ndarray) -> np.ndarray:
        if not len(start):
            return np.zeros(0, np.float32)
        phase = between * len(self._slope)
        row = phase.astype(np.int64)
        weights = self._slope[row]  # (samples, taps)
        weights *= (phase - row).astype(np.float32)[:, None]
        weights += self._table[row]
        windows = np.lib.stride_tricks.sliding_window_view(line, weights.shape[1])[start]
        return np.einsum("st,st->s", windows, weights)


def _table(half: int, band: float, phases: int) -> np.ndarray:
    """Return (phases + 1, 2 * half): weights of the samples around a position row / phases after
    sample half - 1."""
    distance = np.arange(2 * half) - (half - 1) - np.arange(phases + 1)[:, None] / phases
    window = np.i0(BETA * np.sqrt(np.clip(1 - (distance / half) ** 2, 0, None)))
    weights = np.sinc(CUTOFF * band * distance) * window
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
