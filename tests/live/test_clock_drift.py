"""The converter with a variable ratio, and its controller."""

import numpy as np
import pytest

from qse.live.clock_drift import FAST, LEARNING, LIMIT, SLOW, ClockDrift, Converter


def sine(rate: float, seconds: float, frequency: float = 440.0, late: float = 0.0) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * (np.arange(round(rate * seconds)) / rate - late)).astype(np.float32)


@pytest.mark.parametrize("source, target", [(48000, 16000), (44100, 16000), (16000, 44100), (8000, 16000)])
def test_converter_delays_sines(source, target):
    converter, block = Converter(source, target), source // 100
    tones = [110, 997, 0.4 * min(source, target)]
    audio = sum(sine(source, 0.5, tone) for tone in tones)
    parts = [converter.process(audio[start : start + block]) for start in range(0, len(audio), block)]
    assert {len(part) for part in parts} == {target // 100}
    out = np.concatenate(parts)
    expected = sum(sine(target, 0.5, tone, converter.delay) for tone in tones)
    start = target // 10
    error = np.std(out[start:] - expected[start:]) / np.std(expected)
    assert 20 * np.log10(error) < -80
    assert converter.delay < 0.0045


def test_converter_has_no_aliasing():
    out = Converter(48000, 16000).process(sine(48000, 0.5, 9000))
    assert 20 * np.log10(np.abs(out[1600:]).max()) < -80


def test_converter_is_independent_of_block_sizes():
    audio = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    whole, cut = Converter(44100, 16000), Converter(44100, 16000)
    parts = [cut.process(part) for part in np.split(audio, [1, 1, 2, 99, 1000, 1001, 4000])]
    np.testing.assert_allclose(np.concatenate(parts), whole.process(audio), atol=2e-6)


def test_converter_stretch():
    converter = Converter(16000, 16000)
    converter.stretch = 500e-6
    count = sum(len(converter.process(np.zeros(160, np.float32))) for _ in range(6000))
    assert abs(count - 960000 * (1 + 500e-6)) < 1


@pytest.mark.parametrize("faster", [200e-6, -200e-6])
def test_clock_drift_learns_the_ratio(faster):
    drift, excess, furthest = ClockDrift(), 0.0, 0.0
    for _ in range(20_000):
        excess += (drift.update(excess, 0.1) - faster) * 0.1  # what is made less what is played
        furthest = max(furthest, abs(excess))
    assert drift.stretch == pytest.approx(faster, rel=0.02)
    assert furthest < 0.005


def test_clock_drift_limit():
    drift = ClockDrift()
    assert {drift.update(excess, 1.0) for excess in (1.0, 10.0, 1.0)} == {-LIMIT}
    assert drift.update(-10.0, 1.0) == LIMIT


def test_clock_drift_slows_down():
    """The answer to a level that is off at once becomes weaker with the time that was listened, down to a limit."""
    answers = []
    for age in (0.0, LEARNING, 3 * LEARNING, 1e6):
        drift = ClockDrift()
        drift.update(0.0, age)
        answers.append(-drift.update(1e-3, 0.0))
    expected = [2e-3 * speed for speed in (FAST, FAST / 2, FAST / 4, SLOW)]
    np.testing.assert_allclose(answers, expected)
