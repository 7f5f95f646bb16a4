"""Convert blocks of one channel to a model's sample rate, and the enhanced ones back."""

from collections.abc import Callable
from math import ceil

import numpy as np

from ..audio.converter import Converter

SPARE = 2  # samples by which two conversions may fall short of the input: one, and one for rounding


class RateConversion:
    """Two conversions around a model that returns as many samples as it takes: so do both together.

    `latency`: samples by which the output lags the input.
    """

    def __init__(self, sample_rate: float, model_rate: float, model_latency: int):
        """Convert between `sample_rate` and `model_rate`, in Hz.

        `model_latency`: samples at `model_rate`.
        """
        self._inward = Converter(sample_rate, model_rate)
        delay = self._inward.delay + model_latency / model_rate
        self._outward, latency = _aligned(model_rate, sample_rate, delay)
        self.latency = latency + SPARE
        self._ready = np.zeros(SPARE, np.float32)
        self._past = np.zeros(self.latency, np.float32)  # noisy, not in the output yet

    def process(
        self, noisy: np.ndarray, enhance: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take finite float32 (samples,); return the enhanced and the noisy samples, aligned.

        `enhance` is called with the next samples at the model's rate.
        """
        return self.outward(enhance(self.inward(noisy)), noisy)

    def inward(self, noisy: np.ndarray) -> np.ndarray:
        """Take finite float32 (samples,); return the next samples at the model's rate."""
        return self._inward.process(noisy)

    def outward(self, enhanced: np.ndarray, noisy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take what the model made of the samples that `inward` returned for `noisy`; return the
        enhanced and the noisy samples, aligned, as many as `noisy` has."""
        enhanced = self._outward.process(enhanced)
        ready = np.concatenate([self._ready, enhanced])
        self._ready = ready[len(noisy) :]

        line = np.concatenate([self._past, noisy])
        self._past = line[len(noisy) :]
        return ready[: len(noisy)], line[: len(noisy)]


class NoConversion:
    """The same interface for sound at the model's rate."""

    def __init__(self, latency: int):
        """`latency`: samples by which the model's output lags its input."""
        self.latency = latency
        self._past = np.zeros(latency, np.float32)  # noisy, not in the output yet

    def inward(self, noisy: np.ndarray) -> np.ndarray:
        """Return `noisy` as it is."""
        return noisy

    def outward(self, enhanced: np.ndarray, noisy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the enhanced and the noisy samples, aligned."""
        line = np.concatenate([self._past, noisy])
        self._past = line[len(noisy) :]
        return enhanced, line[: len(noisy)]


def _aligned(source_rate: float, target_rate: float, seconds: float) -> tuple[Converter, int]:
    """Return a converter to follow a delay of `seconds`, and the delay of both in whole samples."""
    delay = (seconds + Converter(source_rate, target_rate, 0.0).delay) * target_rate
    latency = ceil(delay) - 1
    phase = (delay - latency) * source_rate / target_rate
    return Converter(source_rate, target_rate, phase), latency
