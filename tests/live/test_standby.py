"""Look at a virtual microphone although the server reports no change."""

import os
from types import SimpleNamespace

import pytest
from waiting import until

from qse.live import pulse_server, pulse_watch
from qse.live.standby import Standby


class Microphone:
    """Is in order when it is checked first, and not afterwards."""

    def __init__(self):
        self.states = iter(["", "it is the default output"])
        self.state = ""

    streams = "source-output"
    listeners = SimpleNamespace(look=lambda everything: None, heard=True, away=False, message="")

    def check(self):
        self.state = next(self.states, self.state)
        return self.state


@pytest.fixture
def silent_server(tmp_path, monkeypatch):
    """A pactl that reports no change."""
    if os.name == "nt":
        pytest.skip("a shell script takes the place of pactl")
    pactl = tmp_path / "pactl"
    pactl.write_text("#!/bin/sh\nexec sleep 60\n")
    pactl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """A function that sets what pactl prints, as a format of printf."""
    if os.name == "nt":
        pytest.skip("a shell script takes the place of pactl")
    pactl = tmp_path / "pactl"
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def write(text):
        pactl.write_text(f"#!/bin/sh\nprintf '{text}'\n")
        pactl.chmod(0o755)

    return write


def test_answers_that_are_no_utf8_are_read(answer):
    answer(r"Source #3\n\tName: desk\363mic\n")
    assert pulse_server.listed("sources") == [{"index": "3", "Name": "desk\ufffdmic"}]


def test_names_are_read_beside_a_state_that_is_no_text(answer):
    answer(r"3\tdesk\tPipeWire\t2ch\tIDLE\n4\tqse\tPipeWire\t2ch\t\362\n\t\367\n5\tmic\tmore\n")
    assert pulse_server.names("sources") == {"3": "desk", "4": "qse", "5": "mic"}


def test_a_recording_opens_the_devices_at_once():
    calls = []
    reconnector = SimpleNamespace(
        wake=lambda: calls.append("wake"), rest=lambda: calls.append("rest")
    )
    session = SimpleNamespace(recorder=None)
    standby = Standby(session, reconnector, Microphone())
    standby._heard = False
    standby._since = -1e9
    standby.update()
    session.recorder = object()
    standby.update()
    assert calls == ["rest", "wake"]


def test_a_closed_watch_calls_nothing(silent_server):
    """Not even what was about to be called: it would make devices again that were removed."""
    calls = []
    watch = pulse_watch.PulseWatch({"sink"}, calls.append)
    until(lambda: calls == ["server"], 30)
    watch.close()
    watch.look("server")
    assert calls == ["server"]


def test_a_change_that_the_server_does_not_report_is_said(silent_server, monkeypatch):
    monkeypatch.setattr(pulse_watch, "EVERY", 0.05)
    reconnector = SimpleNamespace(wake=int, refresh=int, is_running=False)
    standby = Standby(SimpleNamespace(), reconnector, Microphone())
    standby.start()
    until(lambda: standby.message == "it is the default output", 30)
    standby.close()
