"""The highest frequency of a recording."""

import numpy as np
import pytest
import scipy.signal

from qse.data.bandwidth import cutoff

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("frequency", [3400, 8000, 16000, 20000])
def test_cutoff_finds_the_edge_of_a_low_pass(frequency):
    noise = scipy.signal.sosfilt(
        scipy.signal.cheby2(12, 110, frequency, fs=48000, output="sos"), RNG.standard_normal(96000)
    )
    assert frequency - 2500 < cutoff(noise, 48000) < frequency + 500


def test_cutoff_is_that_of_active_frames():
    noise = scipy.signal.resample(RNG.standard_normal(16000), 48000)  # nothing above 8 kHz
    click = np.zeros(48000)
    click[24000] = 1e-3
    assert cutoff(np.concatenate([noise, click]), 48000) < 9000


def test_cutoff_of_white_noise_silence_and_short_clips():
    assert cutoff(RNG.standard_normal(48000), 48000) > 23000
    assert cutoff(np.zeros(48000), 48000) == 0
    assert cutoff(RNG.standard_normal(100), 48000) > 20000
