"""Test whether speech is heard, and whether the microphone delivers anything."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

import qse
from qse.live.activity import SilenceCheck, SpeechIndicator

RATE = 16000
HOP = 200
ASSETS = Path(__file__).parents[2] / "assets"


def noise(level, seconds=1.0):
    return level * np.random.default_rng(0).standard_normal((int(RATE * seconds), 1))


def heard(noisy, enhanced):
    """Return what the indicator says after each hop."""
    indicator = SpeechIndicator(RATE)
    said = []
    for start in range(0, len(noisy) - HOP + 1, HOP):
        indicator.add(noisy[start : start + HOP], enhanced[start : start + HOP])
        said.append(indicator.heard)
    return np.array(said)


@pytest.mark.parametrize(
    "level, gain, expected",
    [(0.1, 0.5, True), (0.1, 0.2, False), (0.1, 0.0, False), (1e-3, 1.0, False)],
)
def test_speech_indicator_compares_output_with_input(level, gain, expected):
    sound = noise(level)
    assert (heard(sound, gain * sound)[8:] == expected).all()  # an average over a tenth of a second


def test_speech_indicator_holds_and_ends():
    said = heard(noise(0.1, 2.0), noise(0.1, 2.0) * (np.arange(2 * RATE) < RATE)[:, None])
    end = (len(said) - np.argmax(said[::-1])) * HOP / RATE
    assert said[8 : RATE // HOP].all() and 1.2 < end < 1.7


def test_speech_indicator_follows_speech_in_noise():
    """clean.wav between pauses, in white noise, through live-base; speech: within 30 dB of the
    loudest hop."""
    if "live-base" not in qse.available():
        pytest.skip("no trained model is installed")
    clean = np.pad(soundfile.read(ASSETS / "clean.wav", dtype="float32")[0], RATE)
    noisy = (clean + noise(0.02, len(clean) / RATE)[:, 0]).astype(np.float32)
    said = heard(noisy[:, None], qse.denoise(noisy, RATE)[:, None])
    power = (clean[: len(said) * HOP].reshape(-1, HOP) ** 2).mean(1)
    near = np.convolve(power, np.ones(65), "same")  # 0.4 s on both sides
    speech = power > power.max() / 1000
    pause = near < power.max() / 1e6
    assert said[speech].mean() > 0.9
    assert pause.sum() > 100 and said[pause].mean() < 0.1


@pytest.mark.parametrize(
    "level, seconds, message",
    [
        (0, 2.9, None),
        (0, 3.2, "zeros"),
        (1e-5, 9.0, None),
        (1e-5, 10.2, "below -80 dBFS"),
        (1e-3, 20.0, None),
    ],
)
def test_silence_check_after_seconds(level, seconds, message):
    check = SilenceCheck(RATE)
    for hop in np.split(noise(level, seconds), round(seconds * RATE / HOP)):
        check.add(np.clip(hop, -9e-5, 9e-5) if level < 1e-4 else hop)
    assert (message in check.message) if message else check.message is None
    check.add(noise(0.1, 0.1))
    assert check.message is None
