"""The jitter buffer before an output."""

import numpy as np
import pytest

from qse.live.jitter_buffer import JitterBuffer


def sine(rate: float, seconds: float, frequency: float = 440.0, late: float = 0.0) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * (np.arange(round(rate * seconds)) / rate - late)).astype(
        np.float32
    )


def player_with(samples: np.ndarray, target: float = 0.02) -> JitterBuffer:
    player = JitterBuffer(1000, target)
    player.ring.write(samples[:, None])
    return player


def pull(player: JitterBuffer, count: int = 10) -> np.ndarray:
    out = np.full((count, 1), np.nan, np.float32)
    player.read(out)
    return out[:, 0]


def test_jitter_buffer_waits_for_its_target():
    player = player_with(np.ones(29, np.float32))
    np.testing.assert_array_equal(pull(player), 0)
    player.ring.write(np.ones((1, 1), np.float32))
    np.testing.assert_allclose(pull(player), [0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 1], atol=1e-6)
    np.testing.assert_array_equal(pull(player), 1)
    assert player.underruns == 0 and player.ring.waiting == 10


def test_jitter_buffer_begins_with_new_samples():
    player = player_with(np.arange(100, dtype=np.float32))
    np.testing.assert_array_equal(pull(player)[5:], np.arange(75, 80))


def test_jitter_buffer_underrun_does_not_jump():
    player = player_with(np.ones(35, np.float32))
    out = [pull(player) for _ in range(4)]
    np.testing.assert_array_equal(out[3], 1)  # five samples and the last one held
    assert player.underruns == 1 and not player.playing
    out.append(pull(player))
    np.testing.assert_allclose(out[4], [0.8, 0.6, 0.4, 0.2, 0, 0, 0, 0, 0, 0], atol=1e-6)
    out.append(pull(player))
    player.ring.write(np.ones((60, 1), np.float32))
    out.append(pull(player))
    assert np.abs(np.diff(np.concatenate(out))).max() < 0.21
    assert player.target > 30 and out[-1][-1] == 1


def test_jitter_buffer_skips_and_cross_fades():
    audio = sine(1000, 10, 3)
    at = 30
    out = []
    player = player_with(audio[:at])
    for _ in range(60):
        out.append(pull(player))
        more = 10 if player.skips else 30
        player.ring.write(audio[at : at + more, None])
        at += more
    assert player.skips == 1 and player.underruns == 0
    assert player.ring.waiting < 100
    # 3 Hz at 1 kHz moves by 0.02; a cut could by 2
    assert np.abs(np.diff(np.concatenate(out))).max() < 0.5


def test_jitter_buffer_draining_plays_to_the_end():
    player = player_with(np.ones(15, np.float32))
    player.draining = True
    out = np.concatenate([pull(player) for _ in range(3)])
    assert out.max() == 1 and out[-1] == 0 and player.underruns == 0 and not player.ring.waiting


@pytest.mark.parametrize(
    "rate, most, target", [(8000, 8192, 0.02), (16000, 1 << 14, 0.5), (48000, 480, 0.02)]
)
def test_jitter_buffer_capacity(rate, most, target):
    player = JitterBuffer(rate, target + most / rate, most)
    needed = most + round((target + most / rate) * rate)
    assert player.ring.free >= needed + most
    player.ring.write(np.ones((needed, 1), np.float32))
    pull(player, most)
    assert player.playing and player.underruns == 0
