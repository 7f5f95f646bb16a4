"""The latency of an output after disturbances: it comes back, without a click and without a dropout
of its own."""

import numpy as np
import pytest
from latency_over_time import EVERY, RATE, STALLS, run, speech
from sound import FLAGS, HEADSET, MICROPHONE, Sound

from qse.live import loudspeaker
from qse.live.jitter_buffer import CALM
from qse.live.loudspeaker import RECOVERED, TOLERATED, Loudspeaker


@pytest.mark.parametrize(
    "count, drift", [pytest.param(10, 0.0, marks=pytest.mark.slow), (1, 2e-4), (1, -2e-4)]
)
def test_latency_comes_back_after_each_disturbance(count, drift):
    speaker, times, waits, _ = run(count, drift)
    start = waits[times > 40][0]
    assert speaker.underruns >= count and speaker.skips == 0
    for number in range(1, count + 1):
        begin = number * EVERY
        disturbed = waits[(times >= begin) & (times < begin + STALLS)]
        after = waits[(times >= begin + STALLS + 60) & (times < begin + EVERY)]
        assert disturbed.max() > start + 0.05
        assert np.abs(after - start).max() < 0.01


def test_shrinking_does_not_click():
    """From the calm after the disturbance to the end of the shrinking, no step is larger than those
    of the sound itself."""
    _, _, _, played = run(1)
    begin = round((EVERY + STALLS + 2) * RATE)
    heard = played[begin : begin + 40 * RATE]
    usual = np.abs(np.diff(speech(10.0), 2)).max()
    assert np.abs(np.diff(heard, 2)).max() < 1.2 * usual


def test_without_pauses_the_converter_shrinks_the_buffer_slowly():
    def tone(seconds):
        return (0.5 * np.sin(2 * np.pi * 150 * np.arange(round(seconds * RATE)) / RATE)).astype(
            np.float32
        )

    _, times, waits, played = run(1, audio=tone)
    calm = EVERY + STALLS + CALM
    first = waits[np.searchsorted(times, calm + 5)]
    later = waits[np.searchsorted(times, calm + 35)]
    assert 0.04 < first - later < 0.08  # 2 ms a second: 60 ms in 30 s
    heard = played[round((calm + 2) * RATE) : round((calm + 40) * RATE)]
    assert np.abs(np.diff(heard, 2)).max() < 1.01 * np.abs(np.diff(tone(1.0), 2)).max()


def test_a_reserve_that_is_needed_stays():
    """A server that takes 0.17 s at once needs them; there are no underruns once it has them."""
    sound = Sound(MICROPHONE, HEADSET, rate=RATE)
    speaker = Loudspeaker(sound, None, RATE // 100, 0.02)
    speaker.start(RATE, 0.01)
    samples = speech(150.0)
    quantum = 17
    counts = []
    for burst in range(len(samples) // (RATE // 100) // quantum):
        for _ in range(quantum):
            sound.streams[-1].take()
        for number in range(quantum):
            at = (burst * quantum + number) * RATE // 100
            speaker.write(samples[at : at + RATE // 100, None], 0.01)
        counts.append(speaker.underruns)
    assert counts[-1] == counts[len(counts) // 3] and counts[-1] <= 12


def test_a_buffer_that_grows_no_more_is_said_until_it_is_calm():
    """A server that takes 0.4 s at once needs more than the largest target."""
    sound = Sound(MICROPHONE, HEADSET, rate=RATE)
    speaker = Loudspeaker(sound, None, RATE // 100, 0.02)
    speaker.start(RATE, 0.01)
    block = np.full((RATE // 100, 1), 0.5, np.float32)

    def play(seconds, quantum):
        for _ in range(round(100 * seconds / quantum)):
            for _ in range(quantum):
                sound.streams[-1].take()
            for _ in range(quantum):
                speaker.write(block, 0.01)

    play(20.0, 17)
    assert speaker.underruns and not speaker.is_too_small
    play(10.0, 40)
    assert speaker.is_too_small
    play(CALM + 2, 1)
    assert not speaker.is_too_small


def test_buffer_of_the_sound_card_comes_back_in_a_pause(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(loudspeaker, "monotonic", lambda: now[0])
    sound = Sound(MICROPHONE, HEADSET, rate=RATE)
    speaker = Loudspeaker(sound, None, RATE // 100, 0.02)
    speaker.start(RATE, 0.01)

    def play(seconds, level, starving=False):
        flags = type(FLAGS)(input_overflow=False, output_underflow=starving)
        for _ in range(round(100 * seconds)):
            speaker.write(np.full((RATE // 100, 1), level, np.float32), 0.01)
            sound.streams[-1].take(flags)
            now[0] += 0.01
            speaker.relieve()

    for _ in range(TOLERATED):
        play(0.1, 0.5)
        play(0.01, 0.5, starving=True)
    play(0.1, 0.5)
    assert sound.streams[-1].wanted["latency"] == 0.04
    play(RECOVERED + 1, 0.5)
    assert sound.streams[-1].wanted["latency"] == 0.04  # no pause yet
    play(0.5, 0.0)
    assert sound.streams[-1].wanted["latency"] == 0.02
