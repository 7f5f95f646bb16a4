"""The screen of qse live, and its lines where there is no terminal."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import soundfile
from live_streams import noise
from qse_cli import screen


@pytest.fixture
def noisy(tmp_path):
    soundfile.write(tmp_path / "noisy.wav", noise(8000, 2), 16000)
    return tmp_path / "noisy.wav"


def test_plain_prints_one_line_per_second(capsys, monkeypatch):
    monkeypatch.setattr(screen, "_state", lambda *_: [])
    level, speech = SimpleNamespace(dbfs=-20.0), SimpleNamespace(heard=True)
    plain = screen.Plain(SimpleNamespace(noisy=level, enhanced=level, speech=speech), None, None)
    for seconds in (0.5, 1.0, 1.1, 3.7, 3.8, 4.0, 5.2):
        plain.show(seconds)
    assert [line[:8] for line in capsys.readouterr().out.splitlines()] == [
        f"00:00:0{n}" for n in (1, 3, 4, 5)
    ]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_plain_full_log_does_not_end_the_session(models, tmp_path):
    soundfile.write(tmp_path / "noisy.wav", noise(20000), 16000)
    code = "from qse_cli.main import main; main()"
    words = [
        sys.executable,
        "-c",
        code,
        "live",
        "--plain",
        "--from",
        "noisy.wav",
        "--to",
        "out.wav",
    ]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"") and soundfile.info(
        tmp_path / "out.wav"
    ).frames == 20000


def test_plain_on_a_dumb_terminal(command, models, noisy, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    status, out, _ = command("live", "--from", noisy, "--to", noisy.with_name("b.wav"))
    assert status == 0 and "removed" not in out and "live-base: 0.5 s of audio" in out


def session_of(**changes):
    """Stand in for a session, with what the lines about recordings and settings read."""
    standing = {"recorder": None, "recorded": [], "strength": None, "muted": False, "bypass": False}
    source, engine = SimpleNamespace(lost=False), SimpleNamespace(sample_rate=16000)
    return SimpleNamespace(**{**standing, "source": source, "engine": engine, **changes})


def test_screen_recording_while_a_device_is_gone():
    recorder, reconnector = (
        SimpleNamespace(error=None, lost=0, path="a.wav"),
        SimpleNamespace(message="gone"),
    )
    controls = SimpleNamespace(message=None)
    sessions = [
        session_of(recorder=recorder, source=SimpleNamespace(lost=lost)) for lost in (True, False)
    ]
    said = [list(screen._recordings(session, reconnector, controls)) for session in sessions]
    assert [[name for name, _ in lines] for lines in said] == [
        ["not recorded"],
        ["recording"],
    ]  # a microphone, a file


def test_screen_lists_ended_and_refused_recordings():
    ended = [SimpleNamespace(error=None, lost=lost, path=f"{lost}.wav") for lost in (0, 8000)]
    controls = SimpleNamespace(message="here.wav cannot be written")
    said = list(
        screen._recordings(session_of(recorded=ended), SimpleNamespace(message=None), controls)
    )
    assert said[0] == ("recorded", "0.wav") and said[2] == (
        "not recorded",
        "here.wav cannot be written",
    )
    assert said[1][0] == "not recorded" and said[1][1].startswith("0.5 s")


def test_screen_shows_what_keys_have_changed():
    assert list(screen._settings(session_of())) == []
    said = dict(screen._settings(session_of(strength=12, muted=True, bypass=True)))
    assert list(said) == ["strength", "mute", "bypass"] and "12 dB" in said["strength"]


def test_screen_on_a_terminal(command, models, noisy, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    status, out, _ = command("live", "--from", noisy, "--to", noisy.with_name("b.wav"))
    assert status == 0 and "removed" in out and "qse live: live-base" in out and "m mute" in out
