"""Levels, SNR and peak."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_audio import N, tone, white

from qse.data.levels import active_level, at_peak, at_snr


def test_active_level_ignores_pauses():
    speech = tone(440.0)
    half = speech.clone()
    half[:, N // 2 :] = 0
    quiet = speech.clone()
    quiet[:, N // 2 :] *= 10 ** (-45 / 20)
    expected = torch.tensor([0.5 / math.sqrt(2)])
    for audio in (speech, half, quiet):
        torch.testing.assert_close(active_level(audio), expected, rtol=1e-3, atol=0)


def test_at_snr_reaches_the_snr():
    speech = white(4, seed=1)
    noise = white(4, seed=2) * torch.tensor([[1.0], [0.1], [3.0], [0.01]])
    wanted = torch.tensor([-5.0, 0.0, 7.5, 20.0])
    scaled = at_snr(noise, speech, wanted)
    reached = 10 * np.log10((speech**2).mean(1).numpy() / (scaled**2).mean(1).numpy())
    np.testing.assert_allclose(reached, wanted.numpy(), atol=0.05)


def test_at_snr_of_silence_is_finite():
    silence = torch.zeros(1, N)
    sound = white(1)
    ten = torch.tensor([10.0])
    assert not at_snr(silence, sound, ten).any()
    torch.testing.assert_close(at_snr(sound, silence, ten), sound)
    assert not at_snr(silence, silence, ten).any()
    # the rounding noise of a silent file stays unheard
    assert not at_snr(sound * 1e-4, sound, ten).any()


def test_at_peak_applies_one_gain():
    noisy = white(2, seed=1)
    clean = white(2, seed=2)
    louder, target = at_peak(noisy, clean, torch.tensor([-20.0, 0.0]))
    np.testing.assert_allclose(np.abs(louder.numpy()).max(1), [0.1, 1.0], rtol=1e-5)
    torch.testing.assert_close(louder / noisy, target / clean)
    zero = torch.zeros(2, N)
    assert not torch.stack(at_peak(zero, zero, torch.zeros(2))).any()
