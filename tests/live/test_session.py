"""A live session: equal to qse denoise, harmless when things break."""

from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from live_streams import feed, noise, start
from sound import CABLE, HEADSET, MICROPHONE, Sound

import qse
from qse.live.loudspeaker import Loudspeaker
from qse.live.microphone import Microphone
from qse.live.recorder import Recorder
from qse.live.session import LiveSession


def test_session_microphone_equals_denoise(recurrent):
    audio = noise(16000)
    session, run, microphone, _ = start(recurrent, blocksize=100)
    enhanced = feed(run, microphone, np.split(audio, 160))
    np.testing.assert_array_equal(
        enhanced[: 16000 // 160 * 160, 0], qse.denoise(audio[:, 0], 16000, recurrent)
    )
    session.stop()


def test_session_latency_is_as_measured(delay):
    rate = 48000
    block = 480
    heard = []
    audio = noise(2 * rate)
    session, run, microphone, speaker = start(delay, rate)
    for part in np.split(audio, len(audio) // block):
        feed(run, microphone, [part])
        heard.append(speaker.take())
    heard = np.concatenate(heard)
    assert heard.shape == (len(audio), 2) and session.dropouts == 0
    np.testing.assert_array_equal(heard[:, 0], heard[:, 1])
    spectra = (
        np.fft.rfft(heard[:, 0], 2 * len(audio)) * np.fft.rfft(audio[:, 0], 2 * len(audio)).conj()
    )
    # the first sample of a block is a block old when it is given
    late = np.argmax(np.fft.irfft(spectra)) + block
    parts = session.latency
    # given and taken at once: no half block between them
    announced = parts.blocks + parts.model - block / 2 / rate
    assert late / rate == pytest.approx(announced, abs=5e-4)
    assert (parts.device_in, parts.device_out) == pytest.approx((0.02, 0.02))


def test_session_plays_on_two_outputs(delay):
    from qse_cli.live_devices import chosen_outputs

    assert (
        chosen_outputs(None, None, None)
        == chosen_outputs(None, None, True)
        == chosen_outputs(None, "a.wav", True)
        == [None]
    )
    assert chosen_outputs("cable", None, None) == ["cable"] and chosen_outputs(
        "cable", None, True
    ) == ["cable", None]
    assert chosen_outputs(None, "a.wav", None) == chosen_outputs(None, None, False) == []
    sound = Sound(MICROPHONE, HEADSET, CABLE)
    speakers = [Loudspeaker(sound, wanted, None, 0.01) for wanted in ("cable", None)]
    session = LiveSession(delay, Microphone(sound, None, None, 0.01), speakers)
    session.start()
    *streams, microphone = sound.streams
    run = session.run()
    heard = []
    for block in np.split(noise(16000), 100):
        feed(run, microphone, [block])
        heard.append([stream.take() for stream in streams])
    assert sound.started == [2, 1, 0] and np.std(heard) > 0.05
    np.testing.assert_array_equal(*np.swapaxes(heard, 0, 1))


@pytest.mark.parametrize("name, level", [("silence", 0.0), ("full scale", 1.0), ("constant", 0.5)])
def test_session_extreme_input(recurrent, name, level):
    block = np.full((160, 1), level, np.float32)
    if name == "full scale":
        block[::2] = -1
    session, run, microphone, speaker = start(recurrent)
    heard = []
    for _ in range(300):
        feed(run, microphone, [block])
        heard.append(speaker.take())
    heard = np.concatenate(heard)
    assert np.isfinite(heard).all() and np.abs(heard).max() <= 1
    assert session.dropouts == session.resets == session.source.bad == 0
    assert (heard == 0).all() if name == "silence" else np.abs(heard[1600:]).max() > 0.4


def test_session_counts_nan_and_plays_silence(recurrent):
    good = noise(1600)
    bad = np.full((160, 1), np.nan, np.float32)
    session, run, microphone, _ = start(recurrent, 16000)
    enhanced = feed(run, microphone, [*np.split(good, 10), bad, *np.split(good, 10)])
    silent = np.concatenate([good, np.zeros_like(bad), good])[:, 0]
    np.testing.assert_array_equal(enhanced[:, 0], qse.denoise(silent, 16000, recurrent))
    assert session.source.bad == 1 and session.resets == 0


def test_session_resets_a_model_that_breaks(fragile):
    session, run, microphone, _ = start(fragile)
    enhanced = feed(run, microphone, np.full((20, 160, 1), 0.25, np.float32))
    assert np.isfinite(enhanced).all() and session.resets > 0


def test_session_underrun_fades_to_silence(delay):
    session, run, microphone, speaker = start(delay)
    block = np.full((160, 1), 0.5, np.float32)
    heard = []
    for _ in range(20):
        feed(run, microphone, [block])
        heard.append(speaker.take())
    heard += [speaker.take() for _ in range(10)]  # 100 ms in which nothing comes
    for _ in range(20):
        feed(run, microphone, [block])
        heard.append(speaker.take())
    heard = np.concatenate(heard[10:])[:, 0]
    assert session.dropouts == 1
    assert np.abs(np.diff(heard)).max() < 0.01  # 0.5 within 5 ms
    assert heard.min() >= 0 and heard.max() < 0.51 and heard[-1] == pytest.approx(0.5, abs=1e-3)


def test_session_counts_lost_input(delay):
    session, _, microphone, _ = start(delay, blocksize=8000)
    for _ in range(3):  # a second and a half, where a second has room
        microphone.give(noise(8000))
    assert session.dropouts == 1
    microphone.give(noise(1), SimpleNamespace(input_overflow=True))
    assert session.dropouts == 2
    session.stop()
    microphone.give(noise(8000))
    assert session.reasons == {"input overrun": 2}  # nobody misses what comes after the end


def test_session_bypass_cross_fades(recurrent):
    audio = noise(16000)
    session, run, microphone, _ = start(recurrent)
    hops = np.split(audio, 100)
    feed(run, microphone, hops[:20])
    session.bypass = True
    enhanced = feed(run, microphone, hops[20:50])
    np.testing.assert_array_equal(enhanced[8 * 160 :], audio[28 * 160 : 50 * 160])
    session.bypass = False
    enhanced = feed(run, microphone, hops[50:])
    np.testing.assert_array_equal(
        enhanced[8 * 160 :, 0], qse.denoise(audio[:, 0], 16000, recurrent)[58 * 160 :]
    )


def test_session_strength_and_levels(delay, recurrent):
    audio = noise(16000)
    session, run, microphone, _ = start(recurrent, strength=6.0)
    enhanced = feed(run, microphone, np.split(audio, 100))
    np.testing.assert_array_equal(
        enhanced[:, 0], qse.denoise(audio[:, 0], 16000, recurrent, strength=6.0)
    )
    assert session.noisy.dbfs == pytest.approx(-20, abs=0.5)
    assert session.enhanced.dbfs == pytest.approx(20 * np.log10(enhanced[8000:].std()), abs=0.5)


def test_session_records_both_sides_aligned(tmp_path, delay):
    recorder = Recorder(tmp_path / "both.flac", 16000, 2)
    session, run, microphone, _ = start(delay, recorder=recorder)
    audio = noise(16000)
    feed(run, microphone, np.split(audio, 100))
    session.close()
    both, _ = soundfile.read(tmp_path / "both.flac", dtype="float32")
    np.testing.assert_array_equal(both[:, 0], both[:, 1])
    np.testing.assert_allclose(both[160:, 0], audio[:-160, 0], atol=1 / 32000)


def test_session_pause_is_no_dropout(delay, monkeypatch):
    """Dropouts within two seconds after a pause of the process do not count; earlier and later ones
    do."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("qse.live.dropouts.monotonic", lambda: clock.now)
    session, _, microphone, _ = start(delay)
    overflow = SimpleNamespace(input_overflow=True)
    microphone.give(noise(160), overflow)
    session.update()
    microphone.give(noise(160), overflow)
    session.resume(3.5)
    for _ in range(50):
        microphone.give(noise(160), overflow)
        session.update()
    clock.now += 3
    session.update()
    assert (session.dropouts, session.pauses, session.paused) == (1, 1, 3.5)
    microphone.give(noise(160), overflow)
    session.update()
    assert session.reasons == {"input overrun": 2} and not session.source.lost


def test_session_mute_silences_everything_without_a_click(delay, tmp_path):
    recorder = Recorder(tmp_path / "both.w64", 16000, 2)
    session, run, microphone, _ = start(delay, blocksize=160, recorder=recorder)
    tone = np.sin(2 * np.pi * 200 * np.arange(16000) / 16000, dtype=np.float32)[:, None] / 2
    blocks = np.split(tone, 100)
    out = []
    for number, block in enumerate(blocks):
        session.muted = 30 <= number < 60
        out.append(feed(run, microphone, [block]))
    session.close()
    recorded, _ = soundfile.read(tmp_path / "both.w64")
    for signal in (np.concatenate(out)[:, 0], recorded[:, 0], recorded[:, 1]):
        assert not signal[31 * 160 : 60 * 160].any()
        assert np.abs(signal[: 30 * 160]).max() > 0.4 < np.abs(signal[61 * 160 :]).max()
        assert np.abs(np.diff(signal)).max() < 0.05  # of the tone: 0.04
    assert session.noisy.dbfs > -12  # the meter shows what the microphone hears


def test_session_strength_is_checked(delay):
    session, *_ = start(delay, blocksize=160, strength=6)
    assert session.strength == 6
    session.strength = None
    with pytest.raises(ValueError, match="from 0 up"):
        session.strength = -1
    assert session.strength is None


def test_session_strength_mixes_noisy_signal(recurrent):
    """From no limit to one of 0 dB: after the cross-fade the output is the noisy signal."""
    audio = noise(16000)
    session, run, microphone, _ = start(recurrent, blocksize=160)
    feed(run, microphone, np.split(audio[:8000], 50))
    session.strength = 0
    out = feed(run, microphone, np.split(audio[8000:], 50))
    late = recurrent.latency
    np.testing.assert_allclose(
        out[3200:, 0], audio[8000 + 3200 - late : 16000 - late, 0], atol=1e-6
    )


def test_session_records_again_and_again(delay, tmp_path):
    session, run, microphone, _ = start(delay, blocksize=160)
    blocks = np.split(noise(16000), 100)
    feed(run, microphone, blocks[:20])
    for number in (1, 2):
        session.record(Recorder(tmp_path / f"{number}.wav", 16000, 2))
        feed(run, microphone, blocks[20 * number : 20 * number + 20])
    session.record(None)
    feed(run, microphone, blocks[60:])
    assert [recorder.path.name for recorder in session.recorded] == ["1.wav", "2.wav"]
    assert [soundfile.info(tmp_path / f"{number}.wav").frames for number in (1, 2)] == [3200, 3200]
