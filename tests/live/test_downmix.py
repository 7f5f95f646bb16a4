"""Channels to one: what is lost in the mean of channels, and when that mean is right."""

import numpy as np
import pytest
from live_streams import noise

from qse.live.downmix import Downmix

RATE = 16000
BLOCK = 200


def mixed(downmix, audio):
    blocks = np.split(audio, range(BLOCK, len(audio), BLOCK))
    return np.concatenate([downmix.process(block) for block in blocks])


def level(heard, audio):
    """Level of what is heard relative to a signal, in dB."""
    return 20 * np.log10(np.std(heard) / np.std(audio))


@pytest.mark.parametrize(
    "gains, reason",
    [
        ((1, -1), "only 1: mixed, they would cancel"),
        ((0.5, -1), "only 2: mixed, they would cancel"),
        ((-0.25, 1), "only 2: mixed, they would cancel"),
        ((1, 0), "without 2, where nothing"),
        ((0, 1), "without 1"),
        ((0.003, 1), "without 1"),
        ((1, 0, 0), "without 2 and 3"),
        ((1, -1, 0), "only 1: mixed"),
        ((1, 1), ""),
        ((1, 1, 1), ""),
    ],
)
def test_downmix_keeps_the_level_of_the_loudest_channel(gains, reason):
    voice = noise(2 * RATE)
    downmix = Downmix(RATE)
    heard = mixed(downmix, voice * np.float32(gains))
    assert level(heard[BLOCK:], voice) == pytest.approx(0, abs=0.1)
    assert downmix.reason.startswith(reason) and bool(downmix.reason) == bool(reason)


def test_downmix_averages_independent_channels():
    audio = noise(10 * RATE, 2)
    downmix = Downmix(RATE)
    np.testing.assert_array_equal(mixed(downmix, audio), audio.mean(axis=1))
    assert downmix.reason == ""


def test_downmix_hears_two_speakers_with_a_microphone_each():
    """One speaks while the other is silent, with 20 dB less of each other's voice; the onset of
    neither is lost."""
    turns = np.repeat([[1, 0.1], [0.1, 1], [1, 0.1], [0.1, 1]], 3 * RATE, axis=0).astype(np.float32)
    voice = noise(len(turns))
    heard = mixed(Downmix(RATE), voice * turns)
    for start in range(0, len(turns), 3 * RATE):
        assert level(heard[start + BLOCK : start + RATE], voice) > -6.1


def test_downmix_does_not_fade_out_with_a_channel_that_dies():
    """Let the louder channel cause a click and end; what is left must be heard at once."""
    audio = noise(4 * RATE) * np.float32([0, 0.01])
    audio[:BLOCK, 0] = 1
    heard = mixed(Downmix(RATE), audio)
    assert level(heard[2 * RATE :], audio[:, 1]) > -6.1


def test_downmix_does_not_click():
    tone = np.sin(2 * np.pi * 200 * np.arange(RATE) / RATE, dtype=np.float32)[:, None]
    audio = np.concatenate(
        [tone * np.float32([1, 1]), tone * np.float32([1, -1]), tone * np.float32([1, 1])]
    )
    heard = mixed(Downmix(RATE), audio)
    assert np.abs(np.diff(heard)).max() < 0.2
    assert level(heard[RATE + RATE // 4 : 2 * RATE], tone) == pytest.approx(0, abs=0.1)


def test_downmix_in_pauses_stays_as_it_was():
    """Independent noise of the two channels, 40 dB below a voice in antiphase, ends no solo."""
    voice = noise(6 * RATE)
    voice[RATE : 3 * RATE] = 0
    audio = voice * np.float32([1, -0.9]) + 0.01 * noise(6 * RATE, 2, seed=1)
    downmix = Downmix(RATE)
    heard = mixed(downmix, audio)
    np.testing.assert_array_equal(heard[BLOCK:], audio[BLOCK:, 0])


def test_downmix_takes_the_channel_that_is_named():
    audio = noise(RATE, 4)
    downmix = Downmix(RATE, channel=3)
    np.testing.assert_array_equal(mixed(downmix, audio), audio[:, 2])
    assert downmix.reason == "only 3 of 4, as chosen"
