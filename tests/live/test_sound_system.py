"""Which system opens audio devices: a sound server, in place of which stands a script called
pactl, or PortAudio."""

import sys

import pytest
from sound import HEADSET, MICROPHONE, Sound

from qse.live import pulse_server
from qse.live.devices import find
from qse.live.pulse_server import PulseError
from qse.live.sound_system import sound_system

LISTED = (
    "{kind} #{id}\\n\\tName: {name}\\n\\tDescription: {label}\\n"
    "\\tSample Specification: s16le {spec}\\n"
)
SOURCES = LISTED.format(kind="Source", id=3, name="mic", label="Desk Mic", spec="1ch 44100Hz")
SINKS = LISTED.format(kind="Sink", id=7, name="desk", label="Speakers", spec="2ch 48000Hz")
SERVER = f"""\
case "$*" in
info) printf 'Default Sink: desk\\nDefault Source: mic\\n' ;;
"list sources") printf '{SOURCES}' ;;
"list sinks") printf '{SINKS}' ;;
esac
"""
REFUSED = "echo 'Connection failure: Connection refused' >&2; exit 1"


@pytest.fixture
def pactl(tmp_path, monkeypatch):
    """Return a function that makes the program pactl of a shell script, or none; it returns the
    module sounddevice."""
    module = Sound(MICROPHONE, HEADSET)
    monkeypatch.setitem(sys.modules, "sounddevice", module)
    monkeypatch.setattr(sys, "platform", "linux")

    def make(script: str | None) -> Sound:
        monkeypatch.setenv("PATH", str(tmp_path))
        if script is not None:
            (tmp_path / "pactl").write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / "pactl").chmod(0o755)
        return module

    return make


def test_sound_system_is_the_server_that_answers(pactl):
    pactl(SERVER)
    microphone, speakers = (find(sound_system(), kind) for kind in ("input", "output"))
    assert (str(microphone), microphone.sample_rate, microphone.inputs) == (
        "0 Desk Mic (mic) (PulseAudio)",
        44100,
        1,
    )
    assert (str(speakers), speakers.sample_rate, speakers.outputs) == (
        "1 Speakers (desk) (PulseAudio)",
        48000,
        2,
    )
    assert find(sound_system(), "input", "desk m") == microphone


@pytest.mark.parametrize("script", [None, REFUSED], ids=["no pactl", "no server"])
def test_sound_system_is_portaudio_without_a_server(pactl, script):
    module = pactl(script)
    assert sound_system() is module


def test_sound_system_is_portaudio_where_asked_for_or_not_on_linux(pactl, monkeypatch):
    module = pactl(SERVER)
    assert sound_system(portaudio=True) is module
    monkeypatch.setattr(sys, "platform", "darwin")
    assert sound_system() is module


def test_sound_system_does_not_pass_over_a_server_that_hangs(pactl, monkeypatch):
    """Check that no PortAudio is tried, which would wait for the same server."""
    pactl("exec /bin/sleep 30")
    monkeypatch.setattr(pulse_server, "PATIENCE", 0.2)
    with pytest.raises(PulseError, match="does not answer: restart it"):
        sound_system()
