"""Errors of phase: shifts, tones beside each other, random phases, delays."""

import numpy as np
import pytest

from qse.evaluate.phase import phase_errors
from qse.evaluate.scoring import score_pair

RATE = 16000
TIME = np.arange(2 * RATE) / RATE


def errors(clean, enhanced):
    return phase_errors(clean=clean, enhanced=enhanced, sample_rate=RATE)


def noise(seed):
    return np.random.default_rng(seed).standard_normal(len(TIME))


def test_phase_of_a_louder_signal_has_no_error():
    found = errors(noise(0), 3 * noise(0))
    assert found == pytest.approx({"phase_error": 0, "frequency_error": 0}, abs=1e-6)


def test_shifted_phase_is_no_error_of_frequency():
    clean = np.sin(2 * np.pi * 1000 * TIME)
    found = errors(clean, np.sin(2 * np.pi * 1000 * TIME + np.pi / 3))
    assert found["phase_error"] == pytest.approx(60, abs=1)
    assert found["frequency_error"] < 0.5
    assert errors(clean, -clean)["phase_error"] == pytest.approx(180)


def test_tone_beside_a_tone_has_the_distance_as_error_of_frequency():
    found = errors(np.sin(2 * np.pi * 1000 * TIME), np.sin(2 * np.pi * 1007 * TIME))
    assert found["frequency_error"] == pytest.approx(7, abs=0.2)


def spectrum(signal):
    padded = np.pad(signal, 256)
    starts = range(0, len(padded) - 511, 128)
    frames = np.stack([padded[start : start + 512] for start in starts])
    return np.fft.rfft(frames * np.hanning(513)[:-1])


def test_errors_of_independent_noise_are_those_of_the_definition():
    """90 degrees; phases of overlapping frames are related, so that the advance is not random."""
    found = errors(noise(0), noise(1))
    assert found["phase_error"] == pytest.approx(90, abs=1)
    x = spectrum(noise(0))
    e = spectrum(noise(1))
    turn = np.diff(np.angle(e), axis=0) - np.diff(np.angle(x), axis=0)
    turn = np.abs((turn + np.pi) % (2 * np.pi) - np.pi)
    weight = np.sqrt(np.abs(x[1:] * x[:-1]))
    expected = (weight * turn).sum() / weight.sum() / (2 * np.pi * 0.008)
    assert found["frequency_error"] == pytest.approx(expected)
    assert expected == pytest.approx(22, abs=1)


def test_phase_error_weighs_by_the_clean_magnitude():
    """A loud tone with the right phase beside a soft one with the opposite phase."""
    loud = np.sin(2 * np.pi * 500 * TIME)
    soft = 0.1 * np.sin(2 * np.pi * 4000 * TIME)
    assert errors(loud + soft, loud - soft)["phase_error"] == pytest.approx(180 / 11, abs=0.5)


def test_phase_errors_do_not_depend_on_frames_at_once(monkeypatch):
    whole = errors(noise(0), noise(0) + noise(1))
    monkeypatch.setattr("qse.evaluate.energy.FRAMES_AT_ONCE", 7)
    assert errors(noise(0), noise(0) + noise(1)) == pytest.approx(whole)


def test_score_pair_knows_phase_by_its_alias():
    found = score_pair(clean=noise(0), enhanced=noise(1), sample_rate=RATE, metrics=["phase"])
    assert found == errors(noise(0), noise(1))
