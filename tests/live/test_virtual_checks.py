"""Check that a session undoes at its start what a session manager restores of the virtual devices,
and leaves later changes to the user."""

import pytest

from qse.live import listeners, own_modules, virtual_device
from qse.live.virtual_device import VirtualMicrophone


class Settings:
    """The states of a sound server: calls of pactl change them."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.mutes = {}
        self.volumes = {}
        self.sink = "desk"
        self.source = "desk_mic"
        self.streams = []
        for module in (virtual_device, listeners, own_modules):
            monkeypatch.setattr(module, "pactl", self.pactl)
            monkeypatch.setattr(module, "listed", self.listed, raising=False)
            monkeypatch.setattr(module, "names", self.names, raising=False)
            monkeypatch.setattr(module, "defaults", self.defaults, raising=False)
        monkeypatch.setattr(virtual_device, "monotonic", lambda: self.now)

    def pactl(self, command, *arguments):
        if command.endswith("-mute"):
            self.mutes[arguments[0]] = {"1": "yes", "0": "no"}[arguments[1]]
        elif command.endswith("-volume"):
            self.volumes[arguments[0]] = arguments[1]
        elif command == "set-default-sink":
            self.sink = arguments[0]
        elif command == "set-default-source":
            self.source = arguments[0]
        return ""

    def names(self, kind):
        return {"0": "desk_mic", "7": "qse_microphone"}

    def defaults(self):
        return {"sink": self.sink, "source": self.source}

    def listed(self, kind):
        if kind == "source-outputs":
            return self.streams
        found = []
        for name, mute in self.mutes.items():
            volume = f"mono: 65536 / {self.volumes[name]} / 0.00 dB"
            found.append({"Name": name, "Mute": mute, "Volume": volume})
        return found

    def restore(self):
        """Restore an earlier state, as a session manager does some time after the creation."""
        self.pactl("set-sink-volume", "qse_output", "40%")
        self.pactl("set-source-mute", "qse_microphone", "1")
        self.pactl("set-default-sink", "qse_output")


@pytest.fixture
def settings(monkeypatch):
    return Settings(monkeypatch)


def test_closed_microphone_is_not_made_again(monkeypatch):
    called = []
    for module in (virtual_device, own_modules):
        monkeypatch.setattr(module, "pactl", lambda *words: called.append(words) or "")
    monkeypatch.setattr(virtual_device, "defaults", dict)
    microphone = VirtualMicrophone()
    microphone.create()
    assert [words[0] for words in called].count("load-module") == 2
    microphone.close()
    called.clear()
    microphone.create()
    assert called == []


def test_what_was_restored_before_the_session_began_is_undone(settings):
    """Loading a model, and waiting for a microphone, may take longer than a session manager."""
    microphone = VirtualMicrophone()
    microphone.create()
    settings.restore()
    settings.now = 60.0
    assert microphone.check() == ""
    assert set(settings.mutes.values()) == {"no"} and set(settings.volumes.values()) == {"100%"}
    assert settings.sink == "desk"


@pytest.mark.parametrize(
    "name, default", [(None, "desk_mic"), ("qse", "desk_mic"), ("Meeting", "qse_microphone")]
)
def test_default_source_stays_while_another_program_listens(settings, name, default):
    """The server moves those who record from a default source with it, to the noisy microphone."""
    microphone = VirtualMicrophone()
    microphone.create()
    if name:
        settings.streams.append(
            {"index": "3", "Source": "7", "Corked": "no", "application.name": name}
        )
    settings.pactl("set-default-source", "qse_microphone")
    settings.restore()
    microphone.listeners.look()
    assert microphone.check() == ""
    assert settings.source == default and settings.sink == "desk"


def test_what_a_user_changes_stays_and_is_said(settings):
    microphone = VirtualMicrophone()
    microphone.create()
    microphone.check()
    settings.now = 60.0
    assert microphone.check() == ""
    settings.restore()
    assert microphone.check() == "qse output is at 40% in the sound settings"
    settings.pactl("set-sink-volume", "qse_output", "100%")
    assert microphone.check().startswith("qse microphone is muted in the sound settings")
    settings.pactl("set-source-mute", "qse_microphone", "0")
    microphone.listeners.look()
    assert microphone.check().startswith("qse output is the default output, so what the desktop")
