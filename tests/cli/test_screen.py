"""The screen of qse live, and its lines where there is no terminal."""

import os
import subprocess
import sys
from io import BytesIO, StringIO, TextIOWrapper
from types import SimpleNamespace

import pytest
import soundfile
from live_streams import noise
from qse_cli import screen, session_state
from qse_cli.controls import HELP
from qse_cli.running import Running
from rich.console import Console
from shown_session import SOURCE, running_of

from qse.printable import printable


@pytest.fixture
def noisy(tmp_path):
    soundfile.write(tmp_path / "noisy.wav", noise(8000, 2), 16000)
    return tmp_path / "noisy.wav"


def test_plain_prints_one_line_per_second(capsys):
    plain = screen.Plain(running_of())
    for seconds in (0.5, 1.0, 1.1, 3.7, 3.8, 4.0, 5.2):
        plain.show(seconds)
    assert [line[:8] for line in capsys.readouterr().out.splitlines()] == [
        f"00:00:0{n}" for n in (1, 3, 4, 5)
    ]


def test_plain_prints_seldom_but_every_change(capsys):
    running = running_of()
    plain = screen.Plain(running, every=600)
    for seconds in range(1, 1300):
        running.session.muted = 100 < seconds < 200
        plain.show(seconds)
    printed = [line[:8] for line in capsys.readouterr().out.splitlines()]
    assert printed == ["00:00:01", "00:01:41", "00:03:20", "00:13:20"]


def test_screen_on_a_terminal_without_unicode(monkeypatch):
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding="latin-1"))
    console = Console(width=80, file=StringIO())
    console.print(screen.panel(running_of(), 1.0, 80, 40))
    text = console.file.getvalue()
    assert "#" in text and "* heard" in text and "█" not in text


@pytest.mark.parametrize("width", [70, 100])
def test_screen_shows_names_of_others_as_texts(monkeypatch, width):
    """A name in the metadata of a model ended the session, or reached the terminal as it was."""
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding="utf-8"))
    name = "a[/b]\x1b]0;title\x9b\u202e\u061c"
    source = SimpleNamespace(**{**vars(SOURCE), "name": name})
    engine = SimpleNamespace(name=name, version="1", sample_rate=16000, keeps_one=False)
    speaker = SimpleNamespace(name=name, drift=0.0, is_too_small=False)
    running = running_of(source=source, engine=engine, speakers=[speaker])
    console = Console(width=width, file=StringIO(), markup=False, force_terminal=True)
    console.print(screen.panel(running, 1.0, width, 40))
    running.session.meter.samples = running.session.meter.sample_rate = 16000
    running.session.meter.rtf = running.session.meter.longest = 0.1
    text = console.file.getvalue() + screen.summary(running, 1.0)
    assert text.count(printable(name)) == 4
    assert not any(sign in text for sign in ("\x1b]", "\x9b", "\u202e", "\u061c"))


def test_state_says_that_nothing_was_recorded():
    recorder = SimpleNamespace(error=None, lost=0, created=False, path="a.wav")
    lines = dict(session_state.state(running_of(recorded=[recorder])))
    assert lines["not recorded"] == "a.wav: no sound came before its end"
    recorder.created = True
    assert dict(session_state.state(running_of(recorded=[recorder])))["recorded"] == "a.wav"


def test_devices_are_closed_while_the_process_sleeps():
    calls = []
    reconnector = SimpleNamespace(
        resting=False, rest=lambda: calls.append("rest"), wake=lambda: calls.append("wake")
    )
    session = SimpleNamespace(source=SimpleNamespace(is_live=True))
    running = Running(session, None, reconnector, None)
    running.sleep(lambda: calls.append("sleep"))
    assert calls == ["rest", "sleep", "wake"]
    reconnector.resting = True  # they stay closed
    running.sleep(lambda: calls.append("sleep"))
    assert calls[3:] == ["sleep"]


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


def test_screen_recording_while_a_device_is_gone():
    recorder = SimpleNamespace(error=None, lost=0, path="a.wav")
    said = []
    for lost in (True, False):  # a microphone, a file
        source = SimpleNamespace(**{**vars(SOURCE), "lost": lost})
        running = running_of(recorder=recorder, source=source)
        running.reconnector.message = "gone"
        said.append([name for name, _ in session_state._recordings(running)])
    assert said == [["not recorded"], ["recording"]]


def test_screen_lists_ended_and_refused_recordings():
    ended = [
        SimpleNamespace(error=None, lost=lost, created=True, path=f"{lost}.wav")
        for lost in (0, 8000)
    ]
    running = running_of(recorded=ended)
    running.controls.message = "here.wav cannot be written"
    said = list(session_state._recordings(running))
    assert said[0] == ("recorded", "0.wav")
    assert said[1][0] == "not recorded" and said[1][1].startswith("0.5 s")
    assert said[2] == ("not recorded", "here.wav cannot be written")


def test_screen_shows_what_keys_have_changed():
    assert list(session_state._settings(running_of().session)) == []
    changed = running_of(strength=12, muted=True, bypass=True).session
    said = dict(session_state._settings(changed))
    assert list(said) == ["strength", "mute", "bypass"] and "12 dB" in said["strength"]


def drawn(running, width, height=24):
    """Return the lines of the screen."""
    console = Console(width=width, markup=False, highlight=False, file=StringIO())
    console.print(screen.panel(running, 75.0, width, height))
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [120, 80, 60, 50])
def test_screen_keeps_names_dropouts_and_keys_at_every_width(width):
    speaker = SimpleNamespace(name="3 Headset (usb)", drift=0.0, is_too_small=False)
    running = running_of(speakers=[speaker])
    running.standby.message = "qse microphone is muted in the sound settings: unmute it there"
    lines = drawn(running, width)
    assert {len(line) for line in lines} == {width}
    words = " ".join(line.strip("│ ") for line in lines).split()
    text = " ".join(words)
    for part in (running.session.source.name, "3 Headset (usb)", "dropouts 3 (buffer underrun: 3)"):
        assert part in text
    assert running.standby.message in text  # no word is divided
    for key in HELP:
        assert any(key in line for line in lines)


def test_screen_on_a_terminal_of_few_lines_leaves_out_what_matters_least():
    running = running_of(resets=4, pauses=2, paused=3.0, channels_heard="only 2 of 2", strength=6)
    whole = drawn(running, 50)
    lines = drawn(running, 50, len(whole) - 4)
    text = "\n".join(lines)
    assert len(lines) <= len(whole) - 4 and "RTF" in "\n".join(whole) and "RTF" not in text
    for kept in ("Blue Yeti", "dropouts", "only 2 of 2", "q quit"):
        assert kept in text


def test_summary_wraps_between_words():
    meter = SimpleNamespace(
        samples=16000, sample_rate=16000, rtf=0.1, longest=0.01, quantile=lambda share: 0.001
    )
    whole = screen.summary(running_of(meter=meter), 1.0)
    wrapped = screen.summary(running_of(meter=meter), 1.0, 50)
    assert max(map(len, wrapped.splitlines())) <= 50 < max(map(len, whole.splitlines()))
    assert wrapped.split() == whole.split()


def test_screen_says_why_nothing_is_removed():
    assert "removed   nothing (bypass)" in "\n".join(drawn(running_of(bypass=True), 80))
    assert "removed   everything (mute)" in "\n".join(drawn(running_of(muted=True), 80))


def test_screen_on_a_terminal(command, models, noisy, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    status, out, _ = command("live", "--from", noisy, "--to", noisy.with_name("b.wav"))
    assert status == 0 and "removed" in out and "qse live: live-base" in out and "m mute" in out
