"""Synthetic noise: spectra and places."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_audio import RATE, N, band_power, tone, white

from qse.data.filters import change_gain
from qse.data.synthetic_noise import clicks, coloured, hum, speech_shaped


@pytest.mark.parametrize("slope", [-9.0, -3.0, 3.0])
def test_coloured_has_its_slope(slope):
    noise = coloured(white(1), torch.tensor([slope]))[0]
    measured = band_power(noise, 2000, 2400) - band_power(noise, 500, 600)
    assert measured == pytest.approx(2 * slope, abs=1.5)
    assert abs(noise.mean()) < 1e-6


def test_speech_shaped_has_the_spectrum_only():
    model = change_gain(tone(300.0) + tone(1200.0), torch.tensor([[-40.0, 0.0, -40.0]]))
    noise = speech_shaped(white(1), model)
    np.testing.assert_allclose(np.abs(np.fft.rfft(noise)), np.abs(np.fft.rfft(model)), atol=0.5)
    assert abs(torch.nn.functional.cosine_similarity(noise, model)) < 0.5


def test_hum_is_its_harmonics():
    amplitude = torch.tensor([[0.5, 0.0, 0.25]])
    audio = hum(torch.tensor([50.0]), amplitude, torch.zeros(1, 3), RATE, RATE)
    spectrum = np.abs(np.fft.rfft(audio[0].double())) * 2 / RATE  # one bin per Hz
    np.testing.assert_allclose(spectrum[[50, 100, 150]], [0.5, 0.0, 0.25], atol=1e-3)
    assert np.delete(spectrum, [50, 150]).max() < 1e-3


def test_clicks_lie_at_their_positions():
    position = torch.tensor([[100, 5000, N - 1]])
    audio = clicks(position, torch.tensor([[1.0, 0.5, 0.25]]), torch.ones(1, 3, 64), N)
    np.testing.assert_allclose(audio[0, [100, 5000, N - 1]], [1.0, 0.5, 0.25])
    np.testing.assert_allclose(audio[0, 116], math.exp(-1), rtol=1e-5)
    assert torch.count_nonzero(audio) == 64 + 64 + 1
