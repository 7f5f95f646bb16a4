"""Speed, splices, saturation, and silence in all augmentations."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_audio import RATE, N, tone, white

from qse.data.augmentation import change_speed, reverse, soft_clip, splice
from qse.data.filters import equalise, low_pass, reverberate
from qse.data.levels import at_level
from qse.data.synthetic_noise import speech_shaped
from qse.data.voice import shift_formants, whisper


@pytest.mark.parametrize("read", [28800, 31040, 35200])
def test_change_speed_moves_a_tone(read):
    slow = change_speed(tone(1000.0, samples=read), N)
    expected = tone(1000.0 * read / N)
    torch.testing.assert_close(slow[:, 1000:-1000], expected[:, 1000:-1000], atol=2e-3, rtol=0)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_change_speed_far_keeps_a_tone(factor):
    """At twice the speed a tone of 3 kHz is one of 6 kHz, and one of 5 kHz is gone."""
    read = round(factor * N)
    changed = change_speed(tone(3000.0, samples=read), N)
    spectrum = np.abs(np.fft.rfft(changed[0].double()))
    assert spectrum.argmax() == round(3000 * factor * N / RATE)
    if factor == 2:
        assert change_speed(tone(5000.0, samples=read), N).abs().max() < 5e-3


def test_reverse_plays_backwards():
    audio = white(2)
    np.testing.assert_array_equal(reverse(audio).numpy(), audio.numpy()[:, ::-1])


def test_splice_cross_fades_at_the_position():
    first = torch.ones(3, 100)
    second = torch.full((3, 100), 3.0)
    spliced = splice(first, second, torch.tensor([0, 40, 95]), 10).numpy()
    for row, position in zip(spliced, (0, 40, 95), strict=True):
        np.testing.assert_allclose(
            row, np.interp(np.arange(100), [position, position + 10], [1, 3]), rtol=1e-6
        )


def test_soft_clip_bends_loud_samples():
    audio = tone(440.0)
    clipped = soft_clip(audio, torch.tensor([2.0]))
    assert clipped.abs().max() == pytest.approx(0.5 * math.tanh(2) / 2, rel=1e-3)
    quiet = audio.abs() < 0.005
    torch.testing.assert_close(clipped[quiet], audio[quiet], rtol=1e-3, atol=0)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: at_level(x, torch.ones(1)),
        lambda x: change_speed(x, 900),
        lambda x: equalise(x, torch.ones(1, 6)),
        lambda x: low_pass(x, torch.tensor([0.5])),
        lambda x: speech_shaped(white(1, 1000), x),
        lambda x: speech_shaped(x, white(1, 1000)),
        lambda x: soft_clip(x, torch.ones(1)),
        lambda x: shift_formants(x, torch.tensor([1.2])),
        lambda x: whisper(x, white(1, 1000)),
        lambda x: splice(x, x, torch.tensor([300]), 20),
        reverse,
        lambda x: torch.stack(reverberate(x, white(1, 100), 50)),
    ],
)
def test_augmentations_of_silence_are_finite(change):
    assert change(torch.zeros(1, 1000)).isfinite().all()
