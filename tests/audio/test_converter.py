"""The converter with a variable ratio: delay, aliasing, blocks of any length."""

import numpy as np
import pytest

from qse.audio.converter import Converter


def sine(rate: float, seconds: float, frequency: float = 440.0, late: float = 0.0) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * (np.arange(round(rate * seconds)) / rate - late)).astype(
        np.float32
    )


@pytest.mark.parametrize(
    "source, target", [(48000, 16000), (44100, 16000), (16000, 44100), (8000, 16000)]
)
def test_converter_delays_sines(source, target):
    converter = Converter(source, target)
    block = source // 100
    tones = [110, 997, 0.4 * min(source, target)]
    audio = sum(sine(source, 0.5, tone) for tone in tones)
    parts = [
        converter.process(audio[start : start + block]) for start in range(0, len(audio), block)
    ]
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
    whole = Converter(44100, 16000)
    cut = Converter(44100, 16000)
    parts = [cut.process(part) for part in np.split(audio, [1, 1, 2, 99, 1000, 1001, 4000])]
    np.testing.assert_allclose(np.concatenate(parts), whole.process(audio), atol=2e-6)


def test_converter_stretch():
    converter = Converter(16000, 16000)
    converter.stretch = 500e-6
    count = sum(len(converter.process(np.zeros(160, np.float32))) for _ in range(6000))
    assert abs(count - 960000 * (1 + 500e-6)) < 1


@pytest.mark.parametrize("phase", [1 / 3, 1.0, 1.3333333333333712])
def test_converter_with_positions_on_input_samples(phase):
    """Positions that rounding moves to either side of an input sample neither fail nor lose a
    sample."""
    for seed in range(3):
        converter = Converter(16000, 12000, phase)
        sizes = np.random.default_rng(seed).integers(1, 200, 200)
        made = sum(len(converter.process(np.zeros(size, np.float32))) for size in sizes)
        assert abs(made - 0.75 * sizes.sum()) <= 2
