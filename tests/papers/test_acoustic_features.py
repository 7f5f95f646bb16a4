"""Quaternion acoustic features against librosa and against derivatives of polynomials."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
librosa = pytest.importorskip("librosa")

from qse_papers.acoustic_features import acoustic_quaternions, log_mel, slope
from speech import voice


def test_log_mel_equals_librosa():
    wave = voice(0.5)[::2].astype(np.float32)
    frames = {"n_fft": 512, "win_length": 200, "hop_length": 80, "center": False}
    filters = {"n_mels": 40, "fmin": 20, "htk": True, "norm": None}
    known = librosa.feature.melspectrogram(
        y=wave, sr=8000, window=np.hamming(200), **frames, **filters
    )
    ours = log_mel(wave[156:], 8000)  # librosa centres the short window in the long frame
    np.testing.assert_allclose(ours[: known.shape[1]].numpy(), np.log(known.T + 1e-10), atol=1e-2)


def test_slope_is_the_derivative_of_a_polynomial():
    t = torch.arange(40, dtype=torch.float32)[:, None]
    third = slope(slope(slope(t**3)))
    torch.testing.assert_close(slope(t**2)[2:-2], 2 * t[2:-2])
    torch.testing.assert_close(third[8:-8], torch.full_like(third[8:-8], 6.0), atol=1e-2, rtol=0)


def test_acoustic_quaternions_hold_energy_and_three_derivatives():
    wave = voice(0.5)[::2]
    x = acoustic_quaternions(wave, 8000)
    energy = log_mel(wave, 8000)
    assert x.shape == (len(energy), 4, 40)
    views = [energy, slope(energy), slope(slope(energy)), slope(slope(slope(energy)))]
    for view, known in zip(x.unbind(1), views, strict=True):
        torch.testing.assert_close(
            view, (known - known.mean(0)) / known.std(0, unbiased=False), atol=1e-3, rtol=1e-3
        )


def test_acoustic_quaternions_of_silence_are_zero():
    assert acoustic_quaternions(np.zeros(2000), 8000).abs().max() < 1e-3
