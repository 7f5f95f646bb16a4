"""Devices that come back with another sample rate, other channels or another name; what cannot be
continued."""

import numpy as np
import pytest
from live_streams import feed
from sound import CABLE, HEADSET, MICROPHONE, Sound
from waiting import until

from qse import QseError
from qse.live import reconnect as watch
from qse.live.loudspeaker import Loudspeaker
from qse.live.microphone import Microphone
from qse.live.reconnect import Reconnector
from qse.live.session import LiveSession

TONE = 440
SECONDS = 2


def tone(rate, channels=1):
    wave = 0.3 * np.sin(2 * np.pi * TONE * np.arange(SECONDS * rate) / rate)
    return np.repeat(wave[:, None], channels, axis=1).astype(np.float32)


def frequency(heard, rate):
    """The frequency of a tone, in Hz, from its middle."""
    middle = heard[len(heard) // 4 : -len(heard) // 4]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 1 << 20))
    return np.argmax(spectrum) * rate / (1 << 20)


def session_on(delay, sound, **options):
    session = LiveSession(
        delay,
        Microphone(sound, None, None, 0.01, **options),
        [Loudspeaker(sound, None, None, 0.01)],
    )
    session.start()
    return session, session.run()


def play_through(session, run, rate, channels=1):
    """Give the microphone a tone at its rate; return what the model put out and what the
    loudspeaker played."""
    speaker, microphone = session.source._sound.streams[-2:]
    assert microphone.wanted["samplerate"] == rate and microphone.wanted["channels"] == channels
    blocks = np.split(tone(rate, channels), SECONDS * 100)
    enhanced = []
    played = []
    for block in blocks:
        enhanced.append(feed(run, microphone, [block]))
        played.append(speaker.take())
    return np.concatenate(enhanced)[:, 0], np.concatenate(played), speaker.wanted


def reopened(session):
    for port in (*session.speakers, *session.source.devices):
        port.close()
    for port in (*session.speakers, *session.source.devices):
        port.open()


@pytest.mark.parametrize("rate, inputs, outputs", [(48000, 2, 1), (8000, 1, 2), (44100, 1, 1)])
def test_session_goes_on_when_devices_come_back_with_another_rate(delay, rate, inputs, outputs):
    sound = Sound(MICROPHONE, HEADSET)
    session, run = session_on(delay, sound)
    play_through(session, run, 16000)
    changed = {
        "default_samplerate": float(rate),
        "max_input_channels": inputs,
        "max_output_channels": outputs,
    }
    sound.entries = [{**MICROPHONE, **changed}, {**HEADSET, **changed}]
    reopened(session)
    enhanced, played, wanted = play_through(session, run, rate, inputs)
    assert (wanted["samplerate"], wanted["channels"], wanted["blocksize"]) == (
        rate,
        outputs,
        rate // 100,
    )
    assert frequency(enhanced, 16000) == pytest.approx(TONE, abs=1)
    assert frequency(played[:, 0], rate) == pytest.approx(TONE, abs=1)
    assert session.dropouts == 0 and session.source.samples == 2 * SECONDS * 16000
    assert (
        session.meter.samples == session.source.samples and len(enhanced) > 0.99 * SECONDS * 16000
    )


def test_session_goes_on_with_another_default_microphone(delay):
    sound = Sound(MICROPHONE, HEADSET, {**CABLE, "default_samplerate": 48000.0})
    session, run = session_on(delay, sound)
    play_through(session, run, 16000)
    sound.default.device[0] = 2
    reopened(session)
    enhanced, *_ = play_through(session, run, 48000, 2)
    assert frequency(enhanced, 16000) == pytest.approx(TONE, abs=1)
    assert session.source.name == "2 Virtual Cable (JACK)"
    assert session.channels_heard == "the first 2 of 8; channel=N takes another"


def test_loudspeaker_keeps_its_count_of_dropouts_at_another_rate(delay):
    sound = Sound(MICROPHONE, HEADSET)
    session, run = session_on(delay, sound)
    play_through(session, run, 16000)
    for _ in range(20):
        sound.streams[0].take()
    assert session.dropouts == 1
    sound.rate = 48000
    reopened(session)
    play_through(session, run, 48000)
    assert session.dropouts == 1


def test_port_finds_a_headset_whose_profile_has_another_name():
    stereo = {**HEADSET, "name": "WH-1000 (bluez_sink.a2dp_sink)", "default_samplerate": 44100.0}
    call = {**HEADSET, "name": "WH-1000 (bluez_sink.handsfree_head_unit)", "max_output_channels": 1}
    sound = Sound(MICROPHONE, stereo)
    port = Loudspeaker(sound, "wh-1000", None, 0.01)
    port.start(16000, 0.01)
    port.close()
    sound.entries = [call, MICROPHONE]
    port.open()
    assert sound.streams[-1].wanted["samplerate"] == 16000 and "handsfree" in port.name
    sound.entries = [call, {**call, "name": "Another WH-1000"}]
    port.open()
    sound.entries = [{**call, "name": "One WH-1000"}, {**call, "name": "Another WH-1000"}]
    with pytest.raises(QseError, match=r"WH-1000 .* is not there"):
        port.open()


@pytest.mark.parametrize(
    "entry, error, words",
    [
        (
            {"max_input_channels": 1},
            None,
            r"Headset \(ALSA\) has no channel 2, it has only one",
        ),
        ({"default_samplerate": 0.0}, None, "sample rate of 0 Hz: name another device"),
        (
            {},
            ValueError("odd"),
            "waiting for its return: 0 Headset .*cannot be opened .*odd.*start qse live again",
        ),
    ],
)
def test_reconnector_ends_what_cannot_be_continued(delay, monkeypatch, entry, error, words):
    """A service starts again only when the process ends; waiting would be for ever."""
    monkeypatch.setattr(watch, "RETRY", 0.001)
    sound = Sound(HEADSET, defaults=(0, 0))
    session, _ = session_on(delay, sound, channel=2)

    def initialize():
        if error:
            raise error

    sound._initialize = initialize
    reconnector = Reconnector(session, sound)
    sound.entries = [{**HEADSET, **entry}]
    sound.streams[-1].wanted["finished_callback"]()
    reconnector.look()
    until(lambda: not reconnector._waiting.is_alive())
    with pytest.raises(QseError, match=words) as caught:
        reconnector.look()
    assert caught.value.status in (1, 2)
    assert not any(stream.open for stream in sound.streams)
