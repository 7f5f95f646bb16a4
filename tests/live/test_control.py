"""Change a running session from another process, through its socket."""

import os
import stat
import sys
from types import SimpleNamespace

import pytest
from qse_cli.main import app
from typer.testing import CliRunner

from qse.errors import QseError, UsageError
from qse.live import service
from qse.live.control import change, controlled, socket_path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no sockets of this kind")


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    session = SimpleNamespace(strength=None, muted=False, bypass=False)
    with controlled(session):
        yield session


def test_only_what_is_named_changes(session):
    assert change(os.getpid(), {"strength": 18.0, "muted": True})["bypass"] is False
    assert (session.strength, session.muted, session.bypass) == (18.0, True, False)
    change(os.getpid(), {"strength": None, "bypass": True})
    assert (session.strength, session.muted, session.bypass) == (None, True, True)


def test_socket_is_for_its_owner_and_goes_with_the_session(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = socket_path(os.getpid())
    path.write_text("left by a killed process")
    with controlled(SimpleNamespace(strength=None, muted=False, bypass=False)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()
    with pytest.raises(QseError, match="does not answer"):
        change(os.getpid(), {"muted": True})


@pytest.mark.parametrize("wanted", [{"strength": -1}, {"strength": "x"}, {"muted": 1}, [1]])
def test_what_makes_no_sense_is_refused_and_changes_nothing(session, wanted):
    with pytest.raises(UsageError):
        change(os.getpid(), wanted)
    assert (session.strength, session.muted, session.bypass) == (None, False, False)


def test_a_session_runs_without_a_runtime_folder(monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with controlled(SimpleNamespace()), pytest.raises(UsageError, match="XDG_RUNTIME_DIR"):
        change(os.getpid(), {})


def test_service_set(session, monkeypatch):
    monkeypatch.setattr(service, "running_process", os.getpid)
    done = CliRunner().invoke(app, ["service", "set", "--strength", "18", "--mute"])
    assert done.output == "strength 18 dB, mute on, bypass off\n" and session.strength == 18
    done = CliRunner().invoke(app, ["service", "set", "--strength", "none", "--no-mute"])
    assert done.output == "strength no limit, mute off, bypass off\n"
    for line in (["set"], ["set", "--strength", "loud"], ["status", "--mute"]):
        assert CliRunner().invoke(app, ["service", *line]).exit_code


def test_a_service_that_does_not_run(monkeypatch):
    monkeypatch.setattr(service, "systemctl", lambda *words: "0\n")
    with pytest.raises(UsageError, match="does not run"):
        service.running_process()
