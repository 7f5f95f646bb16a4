"""Channels that share a mask."""

import graphs
import numpy as np
import pytest
import scipy.signal

import qse
from qse.runtime.linked_channels import FRAME, linked

RATE = 16000


def noise(samples: int, channels: int = 2, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return (0.3 * random.standard_normal((samples, channels))).astype(np.float32)


def joined(enhanced: np.ndarray, noisy: np.ndarray, block: int) -> np.ndarray:
    starts = range(0, len(noisy), block)
    pairs = [(enhanced[start : start + block], noisy[start : start + block]) for start in starts]
    found = list(linked(pairs, RATE))
    np.testing.assert_array_equal(np.concatenate([part for _, part in found]), noisy)
    assert all(len(part) == len(other) for part, other in found)
    return np.concatenate([part for part, _ in found])


@pytest.mark.parametrize("block", [1, 100, 512, 3001, 20000])
@pytest.mark.parametrize("samples", [1, 511, 3000])
def test_equal_masks_change_nothing(block, samples):
    noisy = noise(samples)
    np.testing.assert_allclose(joined(0.5 * noisy, noisy, block), 0.5 * noisy, rtol=0, atol=1e-6)


def test_all_channels_get_the_gain_of_their_energy():
    """By the STFT of scipy."""
    noisy = noise(8000, 3)
    enhanced = noise(8000, 3, seed=1)
    size = round(FRAME * RATE)
    window = np.sqrt(scipy.signal.get_window("hann", size))
    transform = scipy.signal.ShortTimeFFT(window, size // 2, RATE, dual_win=window)
    before = transform.stft(noisy, axis=0)
    after = transform.stft(enhanced, axis=0)
    gain = np.sqrt((abs(after) ** 2).sum(1) / (abs(before) ** 2).sum(1))
    wanted = transform.istft(
        gain[:, None] * abs(before) * np.exp(1j * np.angle(after)), k1=8000, f_axis=0, t_axis=-1
    )
    np.testing.assert_allclose(joined(enhanced, noisy, 1000), wanted, rtol=0, atol=1e-5)


def test_silence_stays_silence():
    noisy = noise(4000)
    noisy[:, 1] = 0
    enhanced = 0.1 * noisy
    assert not joined(enhanced, noisy, 700)[:, 1].any()
    assert not joined(0 * noisy, 0 * noisy, 700).any()


def test_level_difference_of_the_recording_stays(tmp_path):
    """A model whose result depends on the level moves a voice between its channels."""
    model = qse.load("live-tiny")
    mono = noise(RATE, 1) * np.linspace(0.001, 1, RATE, dtype=np.float32)[:, None]
    noisy = np.concatenate([mono, 0.01 * mono], axis=1)
    alone = qse.denoise(noisy, RATE, model)
    together = qse.denoise(noisy, RATE, model, link=True)
    assert abs(alone[:, 1] - 0.01 * alone[:, 0]).max() > 1e-5 * abs(alone).max()
    left = np.square(together[:, 0]).reshape(-1, 800).sum(1)
    right = np.square(together[:, 1]).reshape(-1, 800).sum(1)
    np.testing.assert_allclose(10 * np.log10(left / right), 40, atol=0.3)


def test_one_channel_is_not_changed(tmp_path):
    engine = qse.Engine(graphs.recurrent(tmp_path / "model.onnx"))
    noisy = noise(5000, 1)
    np.testing.assert_allclose(
        qse.denoise(noisy, RATE, engine, link=True), qse.denoise(noisy, RATE, engine), atol=1e-6
    )
