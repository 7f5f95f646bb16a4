"""Filters against NumPy and against what their parameters say."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_audio import band_power, tone, white

from qse.data.filters import change_gain, convolve, equalise, low_pass, reverberate


def test_change_gain_follows_its_knots():
    moved = change_gain(torch.ones(1, 5), torch.tensor([[0.0, 20.0, -20.0]]))
    np.testing.assert_allclose(moved.numpy(), [[1.0, 10**0.5, 10.0, 1.0, 0.1]], rtol=1e-5)


def test_equalise_passes_through_its_knots():
    knots = torch.tensor([[6.0, -6.0, 3.0, 0.0, -3.0, 5.0]])
    hertz = 60 * (8000 / 60) ** (torch.arange(1, 5) / 5)  # where the inner knots lie
    for index, frequency in enumerate(hertz.tolist(), start=1):
        audio = tone(round(frequency / 0.5) * 0.5)
        gain = equalise(audio, knots).norm() / audio.norm()
        assert 20 * math.log10(gain) == pytest.approx(knots[0, index].item(), abs=0.05)


def test_low_pass_attenuates_above_the_cutoff_only():
    audio = white(2)
    filtered = low_pass(audio, torch.tensor([3400.0, 6000.0]) / 8000)
    for row, cutoff in enumerate((3400, 6000)):
        change = [
            band_power(filtered[row], *band) - band_power(audio[row], *band)
            for band in ((50, 0.85 * cutoff), (cutoff - 20, cutoff + 20), (1.2 * cutoff, 8000))
        ]
        assert change[0] == pytest.approx(0, abs=0.1)
        assert change[1] == pytest.approx(-3, abs=0.7)
        assert change[2] < -30


def test_convolve_agrees_with_numpy():
    audio = white(2, 1000)
    taps = white(2, 300, seed=1)
    expected = [
        np.convolve(a.double(), h.double())[:1000] for a, h in zip(audio, taps, strict=True)
    ]
    np.testing.assert_allclose(convolve(audio, taps), expected, atol=1e-5)


def test_reverberate_splits_early_and_late():
    audio = white(1, 4000)
    response = white(1, 2000, seed=1)
    heard, target = reverberate(audio, response, 800)
    late = np.concatenate([np.zeros(800), response[0, 800:].double()])
    np.testing.assert_allclose(
        target[0], np.convolve(audio[0], response[0, :800])[:4000], atol=1e-5
    )
    np.testing.assert_allclose((heard - target)[0], np.convolve(audio[0], late)[:4000], atol=1e-5)
