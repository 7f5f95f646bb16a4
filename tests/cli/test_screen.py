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
    level = SimpleNamespace(dbfs=-20.0)
    plain = screen.Plain(SimpleNamespace(noisy=level, enhanced=level), None)
    for seconds in (0.5, 1.0, 1.1, 3.7, 3.8, 4.0, 5.2):
        plain.show(seconds)
    assert [line[:8] for line in capsys.readouterr().out.splitlines()] == [f"00:00:0{n}" for n in (1, 3, 4, 5)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_plain_full_log_does_not_end_the_session(models, tmp_path):
    soundfile.write(tmp_path / "noisy.wav", noise(20000), 16000)
    code = "from qse_cli.main import main; main()"
    words = [sys.executable, "-c", code, "live", "--plain", "--from", "noisy.wav", "--to", "out.wav"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"") and soundfile.info(tmp_path / "out.wav").frames == 20000


def test_plain_on_a_dumb_terminal(command, models, noisy, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    status, out, _ = command("live", "--from", noisy, "--to", noisy.with_name("b.wav"))
    assert status == 0 and "removed" not in out and "live-base: 0.5 s of audio" in out


def test_screen_recording_while_a_device_is_gone():
    recorder, reconnector = SimpleNamespace(error=None, lost=0, path="a.wav"), SimpleNamespace(message="gone")
    sources = SimpleNamespace(lost=True), SimpleNamespace(lost=False)  # a microphone, a file
    said = [screen._recording(recorder, 16000, source, reconnector)[0] for source in sources]
    assert said == ["not recorded", "recording"]


def test_screen_on_a_terminal(command, models, noisy, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    status, out, _ = command("live", "--from", noisy, "--to", noisy.with_name("b.wav"))
    assert status == 0 and "removed" in out and "qse live: live-base" in out
