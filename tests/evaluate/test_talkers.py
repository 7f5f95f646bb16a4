"""Metrics of a talker among others, on signals whose answer is known."""

import numpy as np
import pytest

from qse.evaluate.metrics import METRICS
from qse.evaluate.named_metrics import resolve
from qse.evaluate.scoring import score_pair

RATE = 16000


def white(seconds: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.05, round(seconds * RATE))


def silent(audio: np.ndarray, *spans: tuple[float, float]) -> np.ndarray:
    audio = audio.copy()
    for begin, end in spans:
        audio[round(begin * RATE) : round(end * RATE)] = 0
    return audio


def scores(clean, other, enhanced):
    signals = {"clean": clean, "enhanced": enhanced, "noisy": clean + other}
    return score_pair(**signals, sample_rate=RATE, metrics=["talkers"])


def test_leak_counts_pauses_after_a_second_of_speech():
    """The other voice is 20 dB lower after the talker's first second, and unchanged before."""
    clean = silent(white(4.0, 1), (0.4, 1.0), (2.5, 4.0))  # known from 1.6 s on
    other = white(4.0, 2)
    gain = np.where(np.arange(4 * RATE) < 1.2 * RATE, 1.0, 0.1)
    assert scores(clean, other, clean + gain * other)["leak"] == pytest.approx(20.0, abs=0.3)
    assert scores(clean, other, clean + other)["leak"] == pytest.approx(0.0, abs=1e-6)


def test_leak_of_a_talker_who_never_pauses_or_is_never_known_is_absent():
    other = white(2.0, 2)
    always = white(2.0, 1)
    brief = silent(always, (0.8, 2.0))
    for clean in (always, brief):
        assert "leak" not in scores(clean, other, clean + other)


def test_over_suppression_is_the_share_of_frames_lowered_by_ten_decibels():
    clean = silent(white(4.0, 1), (3.0, 4.0))
    gain = np.where(np.arange(4 * RATE) < 0.75 * RATE, 0.3, 0.4)  # -10.5 and -8 dB
    found = scores(clean, np.zeros(4 * RATE), gain * clean)["over_suppression"]
    assert found == pytest.approx(25.0, abs=1.0)
    assert scores(clean, clean * 0, clean)["over_suppression"] == 0.0


def test_metrics_of_talkers_are_computed_on_request():
    assert resolve(["talkers"]) == ["leak", "over_suppression"]
    assert all(METRICS[name].on_request for name in resolve(["talkers"]))
