"""The highest frequency of a recording."""

import numpy as np
import pytest
import scipy.signal

from qse.data.bandwidth import bandwidth

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("frequency", [3400, 8000, 16000, 20000])
def test_bandwidth_finds_the_edge_of_a_low_pass(frequency):
    noise = scipy.signal.sosfilt(
        scipy.signal.cheby2(12, 110, frequency, fs=48000, output="sos"), RNG.standard_normal(96000)
    )
    assert frequency - 2500 < bandwidth(noise, 48000) < frequency + 500


def test_bandwidth_is_that_of_active_frames():
    # whole frames, up to 8 kHz
    noise = scipy.signal.resample(RNG.standard_normal(16000), 48000)[: 23 * 2048]
    pause = 1e-3 * RNG.standard_normal(48000)  # more than 40 dB below
    assert bandwidth(np.concatenate([noise, pause]), 48000) < 9000


def test_bandwidth_ignores_rounding():
    quiet = 0.001 * scipy.signal.resample(RNG.standard_normal(16000), 48000)
    assert bandwidth(np.rint(quiet * 32768).astype(np.int16), 48000) < 9000


def test_bandwidth_of_white_noise_silence_and_short_clips():
    assert bandwidth(RNG.standard_normal(48000), 48000) > 23000
    assert bandwidth(np.zeros(48000), 48000) == 0
    assert bandwidth(RNG.standard_normal(100), 48000) > 20000
