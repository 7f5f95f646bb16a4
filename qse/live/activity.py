"""Detect speech in the input, by the model's gain, and an input without any sound, as of a muted
microphone."""

import math

import numpy as np

SPAN = 0.05  # seconds over which powers are averaged
KEPT = 0.1  # least share of the power that is kept of speech
AUDIBLE = 10**-5.5  # least power of speech: -55 dBFS
HOLD = 0.2  # seconds for which speech counts as heard after its last sound
FAINT = 1e-4  # the highest peak that counts as silence: -80 dBFS
ZEROS_AFTER = 3.0  # seconds after which zeros are reported
FAINT_AFTER = 10.0  # seconds after which faint sound is reported


class SpeechIndicator:
    """Detect speech by the share of the power of the noisy signal that the model keeps.

    This ratio is the mean of the squared mask, weighted by the noisy power: near 1 in speech with
    little noise, small in noise alone. It is an indicator, not a voice activity detector: noise
    that the model lets through counts as speech, and speech far below the noise does not.
    """

    def __init__(self, sample_rate: int):
        self._span = SPAN * sample_rate
        self._hold = HOLD * sample_rate
        self._noisy = 0.0  # power
        self._enhanced = 0.0  # power
        self._since = math.inf  # samples since speech was last heard

    def add(self, noisy: np.ndarray, enhanced: np.ndarray) -> None:
        """Count a hop of the noisy signal and of the model's output, of equal shape, samples
        first."""
        weight = min(1.0, len(noisy) / self._span)
        self._noisy += weight * (float(np.mean(np.square(noisy))) - self._noisy)
        self._enhanced += weight * (float(np.mean(np.square(enhanced))) - self._enhanced)
        heard = self._enhanced > AUDIBLE and self.kept > KEPT
        self._since = 0.0 if heard else self._since + len(noisy)

    @property
    def kept(self) -> float:
        """Share of the power of the last SPAN seconds that the model keeps."""
        return self._enhanced / self._noisy if self._noisy else 0.0

    @property
    def heard(self) -> bool:
        """True while speech is heard, and for HOLD seconds after it."""
        return self._since < self._hold


class SilenceCheck:
    """Notice a microphone that delivers only zeros, as a muted one does, or next to nothing."""

    def __init__(self, sample_rate: int):
        self._rate = sample_rate
        self._zeros = 0  # samples since the last that was not 0
        self._faint = 0  # samples since the last above FAINT

    def add(self, noisy: np.ndarray) -> None:
        """Count the next samples, (samples, ...)."""
        peak = float(np.abs(noisy).max(initial=0.0))
        self._zeros = self._zeros + len(noisy) if peak == 0 else 0
        self._faint = self._faint + len(noisy) if peak < FAINT else 0

    @property
    def message(self) -> str | None:
        """Say what is wrong and what to do; None while there is sound."""
        if self._zeros > ZEROS_AFTER * self._rate:
            cure = "switch it on, at the device or in the sound settings"
            return f"delivers only zeros: is it muted? If so, {cure}"
        if self._faint > FAINT_AFTER * self._rate:
            return "is silent, below -80 dBFS: is it the right one? See qse live --list"
        return None
