"""Hold the signals of one utterance, checked, at the rates at which metrics are defined."""

from typing import Any

import numpy as np

SAMPLE_RATE = 16000  # Hz, of most metrics
NARROW_BAND = 8000  # Hz, of the same metrics for signals at less than SAMPLE_RATE


class Signals:
    """The clean, enhanced and noisy signal of an utterance, float (samples,) of one length.

    signals: by their role; a signal that is absent is None. Raises ValueError for signals that
    differ in shape, are silent, or hold samples that are not finite.
    """

    def __init__(self, signals: dict[str, np.ndarray | None], sample_rate: int):
        if sample_rate < NARROW_BAND:
            least = f"metrics need at least {NARROW_BAND} Hz, not {sample_rate} Hz"
            raise ValueError(f"{least}; resample the signals first")

        self.sample_rate = sample_rate
        self._signals = {role: signal for role, signal in signals.items() if signal is not None}
        shape = np.shape(self._signals["enhanced"])
        if len(shape) != 1 or not shape[0]:
            raise ValueError(f"enhanced must be one channel (samples,), not of shape {shape}")
        for role, signal in self._signals.items():
            _check(role, signal, shape)
        self._converted: dict[tuple[str, int], np.ndarray] = {}

    @property
    def common_rate(self) -> int:
        """Return the rate of metrics that are not computed at the rate of the signals."""
        return SAMPLE_RATE if self.sample_rate >= SAMPLE_RATE else NARROW_BAND

    def __contains__(self, role: str) -> bool:
        return role in self._signals

    def at(self, role: str, rate: int) -> np.ndarray:
        """Return the signal of a role at a rate in Hz; each is converted once."""
        key = (role, rate)
        if key not in self._converted:
            self._converted[key] = resampled(self._signals[role], self.sample_rate, rate)
        return self._converted[key]


def as_signal(role: str, signal: Any) -> np.ndarray:
    """Return an array, or a tensor of PyTorch on any device, as an array.

    Raises TypeError if it holds no numbers.
    """
    if hasattr(signal, "detach"):  # a tensor; PyTorch may be absent
        signal = signal.detach().cpu()
        signal = signal.double() if signal.is_floating_point() else signal
    try:
        array = np.asarray(signal)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{role} is no array of samples: {error}") from error
    if array.dtype.kind not in "fiu":
        kind = type(signal).__name__
        raise TypeError(f"{role} must be an array of numbers, not {kind} of {array.dtype}")
    return array


def resampled(audio: np.ndarray, sample_rate: int, target_rate: int) -> np.ndarray:
    """Return (samples,) at `target_rate`, the array itself if that is its rate."""
    if sample_rate == target_rate:
        return audio
    import soxr

    return soxr.resample(audio, sample_rate, target_rate, "VHQ")


def _check(role: str, signal: np.ndarray, shape: tuple[int, ...]) -> None:
    if np.shape(signal) != shape:
        shapes = f"{np.shape(signal)} and {shape} samples"
        raise ValueError(f"{role} and enhanced differ in length: {shapes}")
    if not np.isfinite(signal).all():
        raise ValueError(f"{role} holds samples that are not finite")
    if role != "noisy" and not np.any(signal):
        raise ValueError(f"the {role} signal is silent: metrics have no value for it")
