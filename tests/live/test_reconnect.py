"""Devices that vanish and return."""

from threading import Event

import pytest
from live_streams import feed, noise, start
from sound import MICROPHONE
from waiting import until

from qse import QseError
from qse.live import ports
from qse.live import reconnect as watch
from qse.live.reconnect import Reconnector


def test_reconnector_opens_a_vanished_device_again(delay, monkeypatch):
    monkeypatch.setattr(watch, "RETRY", 0.001)
    session, run, microphone, speaker = start(delay)
    sound = session.source._sound
    go = Event()
    failures = [sound.PortAudioError("cannot start"), sound.PortAudioError("not yet")]

    def initialize():
        go.wait(30)
        if failures:
            raise failures.pop()

    sound._initialize = initialize
    eye = Reconnector(session, sound)
    eye.look()
    assert eye.message is None
    feed(run, microphone, [noise(160)])
    gone = sound.entries[0]
    sound.entries[0] = {**MICROPHONE, "max_input_channels": 0}
    microphone.wanted["finished_callback"]()
    eye.look()
    assert "Desk Microphone" in eye.message and "waiting" in eye.message
    go.set()
    until(lambda: sound.scans > 3)
    assert "no input device" in eye.message
    assert not (microphone.open or speaker.open)
    sound.entries[0] = gone
    until(lambda: eye.message is None)
    assert eye.losses == 1 and 0 < eye.away < 60
    speaker, microphone = sound.streams[-2:]
    assert feed(run, microphone, [noise(160)]).shape == (160, 1)
    eye.look()
    assert eye.message is None and speaker.open


def test_reconnector_that_is_closed_looks_for_no_devices(delay):
    session, *_ = start(delay)
    sound = session.source._sound
    eye = Reconnector(session, sound)
    eye.rest()
    looks = []
    sound._initialize = lambda: looks.append("now")
    eye.refresh()
    eye.close()
    eye.refresh()
    assert looks == ["now"]


def test_reconnector_without_reconnect_is_an_error(delay, monkeypatch):
    session, *_ = start(delay)
    eye = Reconnector(session, session.source._sound, reconnect=False)
    monkeypatch.setattr(ports, "PATIENCE", -1.0)
    with pytest.raises(QseError, match=r"device gone: 1 Headset \(ALSA\), 0 Desk Microphone"):
        eye.look()


def test_reconnector_gives_up_a_sound_system_that_does_not_return(delay, monkeypatch):
    """As PortAudio's ALSA streams do at times, whose device vanished. The other stream must not be
    closed either."""
    monkeypatch.setattr(watch, "LONGEST", 0.05)
    monkeypatch.setattr(watch, "PATIENCE", 0.05)
    session, _, microphone, speaker = start(delay)
    stuck = Event()
    closed = []
    speaker.abort = lambda ignore_errors: stuck.wait(30)
    microphone.abort = lambda ignore_errors: closed.append(microphone)
    eye = Reconnector(session, session.source._sound)
    microphone.wanted["finished_callback"]()

    def look() -> bool:
        try:
            eye.look()
        except QseError as error:
            assert "Desk Microphone" in str(error) and "start qse live again" in str(error)
            return True
        return False

    until(look)
    eye.close()
    session.close()
    assert not closed
    stuck.set()
