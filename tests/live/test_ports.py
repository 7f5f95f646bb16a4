"""Microphone and loudspeaker: opening devices, finding them again, relief of a starved card."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from live_streams import feed, noise, start
from sound import HEADSET, MICROPHONE, Sound

from qse import QseError
from qse.live.file_input import FileInput
from qse.live.loudspeaker import Loudspeaker
from qse.live.microphone import Microphone
from qse.live.reconnect import Reconnector
from qse.live.session import LiveSession


@pytest.mark.parametrize("hop", [Fraction(200, 16000), Fraction(100, 16000)])
@pytest.mark.parametrize("rate, samples", [(16000, 200), (48000, 600), (44100, 441), (1000, 10)])
def test_port_blocksize_is_hops_of_at_least_10_ms_or_10_ms(tmp_path, rate, samples, hop):
    soundfile.write(tmp_path / "noisy.wav", noise(rate), rate)
    sound = Sound(MICROPHONE, HEADSET, rate=rate)
    ports = Microphone(sound, None, hop, 0.01), Loudspeaker(sound, None, hop, 0.01)
    for port in (*ports, FileInput(tmp_path / "noisy.wav", hop)):
        assert port.blocksize == samples
    assert Microphone(sound, None, 64, 0.01).blocksize == 64


def test_loudspeaker_relieve_doubles_the_buffer(delay):
    session, run, microphone, speaker = start(delay)
    sound = session.source._sound
    times = 16
    eye = Reconnector(session, sound)
    for _ in range(times):
        speaker = [stream for stream in sound.streams if stream is not microphone][-1]
        feed(run, microphone, np.split(noise(960), 6))
        for underflow in (False, True, True, False):  # two complaints on end are about one gap
            speaker.take(SimpleNamespace(output_underflow=underflow))
        eye.look()
    speakers = [stream for stream in sound.streams if stream is not microphone]
    assert [stream.wanted["latency"] for stream in speakers] == [0.01, 0.02, 0.04, 0.08, 0.15]
    assert [stream.open for stream in speakers] == [False] * 4 + [True]
    assert session.reasons["sound card underrun"] == times and eye.losses == 0


def test_port_finds_its_device_under_another_id():
    twins = [MICROPHONE, {**MICROPHONE, "hostapi": 1}, MICROPHONE]
    sound = Sound(*twins, defaults=(0, -1))
    port = Microphone(sound, "2", None, 0.01)
    port.open()
    assert sound.started == [2]
    sound.entries = [HEADSET, *twins]
    port.open()
    sound.entries = [HEADSET, MICROPHONE]
    port.open()
    assert sound.started == [2, 1, 1]
    sound.entries = [HEADSET]
    with pytest.raises(QseError, match="not there"):
        port.open()


MIXER = {**HEADSET, "name": "Mixer", "max_input_channels": 4}


def heard_by(delay, gains, **options):
    """Return the level of a voice after the session, in dB of its own, and the session."""
    sound = Sound({**MIXER, "max_input_channels": len(gains)}, HEADSET)
    source = Microphone(sound, None, None, 0.01, **options)
    session = LiveSession(delay, source)
    session.start()
    [microphone] = sound.streams
    voice = noise(16000)
    blocks = [
        block[:, : microphone.wanted["channels"]]
        for block in np.split(voice * np.float32(gains), 100)
    ]
    heard = feed(session.run(), microphone, blocks)
    return 20 * np.log10(np.std(heard[1600:]) / np.std(voice)), session


@pytest.mark.parametrize(
    "gains, said", [((1, -1), "would cancel"), ((0, 1), "without 1"), ((1, 1), "")]
)
def test_microphone_keeps_its_level_whatever_its_channels_are(delay, gains, said):
    level, session = heard_by(delay, gains)
    assert level == pytest.approx(0, abs=0.1)
    assert said in session.channels_heard and bool(said) == bool(session.channels_heard)


def test_microphone_hears_the_channel_that_is_named(delay):
    level, session = heard_by(delay, (0, 0, 1, 0), channel=3)
    assert level == pytest.approx(0, abs=0.1) and "only 3 of 4" in session.channels_heard
    level, session = heard_by(delay, (0.1, 0.1, 1, 0))
    assert level == pytest.approx(-20, abs=0.1) and "first 2 of 4" in session.channels_heard
    with pytest.raises(QseError, match=r"Mixer \(ALSA\) has no channel 5, it has 1 to 4"):
        Microphone(Sound(MIXER), None, None, 0.01, channel=5)


def test_session_keeps_the_level_of_a_file_in_antiphase_that_a_device_plays(delay, tmp_path):
    voice = noise(16000)
    soundfile.write(tmp_path / "noisy.wav", voice * np.float32([1, -1]), 16000)
    sound = Sound(MICROPHONE, HEADSET)
    session = LiveSession(
        delay,
        FileInput(tmp_path / "noisy.wav", paced=False),
        [Loudspeaker(sound, None, None, 0.01)],
    )
    session.start()
    assert np.std(np.concatenate(list(session.run()))) > 0.9 * np.std(voice)
    assert "would cancel" in session.channels_heard


def test_port_reports_a_device_that_does_not_start(delay):
    sound = Sound(MICROPHONE, HEADSET)
    sound.InputStream = lambda **_: (_ for _ in ()).throw(sound.PortAudioError("busy"))
    with pytest.raises(QseError, match=r"Desk Microphone.*busy.*another program") as caught:
        Microphone(sound, None, None, 0.01).open()
    assert caught.value.status == 2
