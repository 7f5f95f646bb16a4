"""The gain of the features by the level of the input: exactly one inside the usual range, steady
outside of it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from qse.nn import contract
from qse.nn.input_level import InputLevel

RATE = 16000
HOP = 200
SECOND = RATE // HOP  # hops


def speech(peak: float, seconds: float = 3.0, seed: int = 0) -> np.ndarray:
    """Noise in syllables, the first one at its loudest; the peak is `peak` dBFS."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(seconds * RATE)) / RATE
    audio = rng.uniform(-1, 1, len(time)) * np.clip(np.cos(2 * np.pi * 2 * time), 0.05, None)
    return audio / np.abs(audio).max() * 10 ** (peak / 20)


def gains(*parts: np.ndarray) -> np.ndarray:
    """Return the gain of every hop in dB."""
    audio = torch.from_numpy(np.concatenate(parts))[None]
    gain, _ = InputLevel(RATE, 512, HOP).double()(audio)
    return 20 * np.log10(gain[0].numpy())


def reference(audio: np.ndarray) -> np.ndarray:
    """Compute the gains hop by hop, in plain Python, by the definition."""
    peaks = [0.0] * 7
    level = peak = 0.0
    found = []
    for hop in audio.reshape(-1, HOP):
        peaks.append(max(0.0, 20 * np.log10(max(np.abs(hop).max(), 1e-5)) + 100))
        frame = max(peaks[-3:])
        level = max(min(peaks[-8:]), level - 0.25 / SECOND)
        peak = max(frame, peak - 1 / SECOND)
        lift = min(20.0, max(0.0, 50 - max(frame, level + 6)))
        found.append(lift - 1.25 * max(0.0, peak - 100))
    return np.array(found)


@pytest.mark.parametrize("peak", [-90, -70, -45, -10, 3, 20])
def test_gains_are_those_of_the_definition(peak):
    audio = np.concatenate([speech(peak), np.zeros(RATE), speech(peak - 25), speech(peak + 10)])
    np.testing.assert_allclose(gains(audio), reference(audio), atol=1e-9)


def test_the_level_is_a_stream():
    quiet_and_loud = np.concatenate([speech(-65, 1), speech(-20, 1), speech(12, 1)])
    audio = torch.from_numpy(np.stack([quiet_and_loud, quiet_and_loud[::-1]]))
    contract.verify_stream(InputLevel(RATE, 512, HOP), audio, dim=1, unit=HOP, out_dim=1)


@pytest.mark.parametrize("peak", [-40, -20, 0])
def test_usual_levels_are_left_alone_to_the_bit(peak):
    audio = torch.from_numpy(speech(peak)).float()[None]
    gain, _ = InputLevel(RATE, 512, HOP)(audio)
    assert (gain == 1).all()


def test_a_minute_of_room_noise_between_two_sentences_is_left_alone():
    audio = np.concatenate([speech(-30), speech(-65, 60), speech(-30)])
    gain, _ = InputLevel(RATE, 512, HOP)(torch.from_numpy(audio).float()[None])
    assert (gain == 1).all()


def test_soft_speech_after_silence_is_raised_at_once_and_steadily():
    found = gains(np.zeros(RATE), speech(-65))[SECOND + 8 :]
    assert (found > 8).all() and (found < 20).all()
    assert found[SECOND // 2 :].std() < 1.5  # dB


def test_a_step_up_takes_effect_in_the_same_frame():
    found = gains(speech(-60), speech(-20))
    assert (found[3 * SECOND :] == 0).all()


def test_a_step_down_is_followed_slowly():
    found = gains(speech(-20), speech(-60, 180))
    assert (found[: 60 * SECOND] == 0).all()
    assert found[-1] > 4  # dB
    assert np.diff(found).max() < 7  # dB from hop to hop


def test_a_click_at_full_scale_in_soft_speech_lowers_three_frames_alone():
    soft = speech(-62)
    click = soft.copy()
    click[20000] = 1.0
    differs = np.flatnonzero(gains(soft) != gains(click))
    assert list(differs) == [100, 101, 102]


def test_loud_signals_are_lowered_below_full_scale():
    found = gains(speech(34))
    assert (found[SECOND:] < -34).all()
    assert found[SECOND:].std() < 1  # dB


def test_gradients_do_not_flow_through_the_level():
    audio = (0.1 * torch.randn(1, 10 * HOP)).requires_grad_()
    gain, _ = InputLevel(RATE, 512, HOP)(audio)
    assert not gain.requires_grad
