"""Compensate the drift between the clocks of two sound cards: a resampler with a variable ratio, and its controller.

The clocks of two sound cards differ by up to about 200 ppm: one sample every 100 ms. Without compensation the buffer
between them runs empty or overflows. So the ratio of the resampler slowly follows the fill level of that buffer.

Converter: a Kaiser-windowed sinc (a sum over 2 * half input samples per output sample), tabulated at PHASES positions
between two samples, with linear interpolation: errors stay below -90 dB. Its delay is `half`, 2 ms at 16 kHz; soxr,
which processes Fourier blocks, keeps back up to 58 ms.
ClockDrift: a proportional-integral controller with both poles at FAST radians per second at first, then ever slower
down to SLOW: the clocks are stable, but the fill level also varies for other reasons.
"""

from math import ceil

import numpy as np

CROSSINGS, BETA, CUTOFF = 32, 8.0, 0.955  # 80 dB; flat to 0.89 of the band, -6 dB at 0.955
PHASES = 512  # between two samples of the lower rate
FAST, SLOW, LEARNING = 0.02, 0.004, 200.0  # radians per second, and seconds after which the speed has halved
LIMIT = 2e-3  # 3.5 cents, which is inaudible


class Converter:
    """Convert a stream of samples from one rate to another, with a short delay.

    `delay`: seconds by which the output lags the input. `stretch`: fraction by which more samples come out than by the
    ratio of the rates (1e-6 is one ppm); may be set before any block.
    """

    def __init__(self, source_rate: float, target_rate: float, phase: float = 0.25):
        """`phase`: position of the first output sample, in input samples; not an integer, where rounding would show."""
        self.stretch = 0.0
        self._step = source_rate / target_rate
        self._half = ceil(CROSSINGS * max(1.0, self._step))
        self._table = _table(self._half, min(1.0, 1 / self._step), ceil(PHASES / max(1.0, self._step)))
        self._slope = np.diff(self._table, axis=0)
        self._line = np.zeros(2 * self._half, np.float32)  # the samples that are still needed, oldest first
        self._at = self._half + phase  # position of the next output sample in `_line`
        self.delay = (self._half - phase) / source_rate

    def process(self, block: np.ndarray) -> np.ndarray:
        """Take the next samples (samples,); return all output samples that they complete, float32."""
        line = np.concatenate([self._line, block])
        step = self._step / (1 + self.stretch)
        count = max(0, ceil((len(line) - self._half - self._at) / step))
        at = self._at + step * np.arange(count + 1)
        before = at[:count].astype(np.int64)  # the input sample before each output sample
        out = self._sum(line, before - self._half + 1, at[:count] - before)
        used = int(at[count]) - self._half + 1
        self._line, self._at = line[used:], at[count] - used
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
    """Return (phases + 1, 2 * half): weights of the samples around a position row / phases after sample half - 1."""
    distance = np.arange(2 * half) - (half - 1) - np.arange(phases + 1)[:, None] / phases
    window = np.i0(BETA * np.sqrt(np.clip(1 - (distance / half) ** 2, 0, None)))
    weights = np.sinc(CUTOFF * band * distance) * window
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


class ClockDrift:
    """Control `stretch` by the fill level of the buffer at the output.

    `learned`: estimated fraction by which the output's clock runs faster than the input's.
    """

    def __init__(self) -> None:
        self.stretch, self.learned, self._age = 0.0, 0.0, 0.0

    def update(self, excess: float, elapsed: float) -> float:
        """Return the new stretch. `excess`: seconds of sound above the target; `elapsed`: seconds since last call."""
        self._age += elapsed
        omega = max(SLOW, FAST / (1 + self._age / LEARNING))
        self.learned = _clip(self.learned - omega**2 * excess * elapsed)
        self.stretch = _clip(self.learned - 2 * omega * excess)
        return self.stretch


def _clip(stretch: float) -> float:
    return min(LIMIT, max(-LIMIT, stretch))
