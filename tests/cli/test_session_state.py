"""Lines about the state of a live session that ask for something to be done."""

from io import StringIO
from types import SimpleNamespace

from qse_cli import screen, session_state
from rich.console import Console
from shown_session import SOURCE, running_of


def test_listeners_that_hear_another_microphone_are_said_in_red(monkeypatch, capsys):
    running = running_of()
    running.standby.astray = "Meeting now records another, noisy microphone"
    console = Console(width=80, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(screen.panel(running, 1.0, 80, 40))
    assert "\x1b[1;31mlisteners" in console.file.getvalue()
    screen.Plain(running).show(1.0)
    monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    screen.Plain(running).show(1.0)
    lines = capsys.readouterr().out.splitlines()
    assert [line.startswith("<3>") for line in lines] == [False, True]
    assert all("listeners Meeting now records" in line for line in lines)


def test_dropouts_that_go_on_name_the_option():
    speaker = SimpleNamespace(name="3 Headset (usb)", drift=0.0, is_too_small=True)
    assert "--buffer" in dict(session_state.state(running_of(speakers=[speaker])))["dropouts"]


def test_silence_of_the_channels_that_are_heard_names_the_others():
    source = SimpleNamespace(**vars(SOURCE) | {"name": "3 Mixer (usb)"})
    silence = SimpleNamespace(message="only zeros for 3 s: is it muted?")
    wide = running_of(source=source, silence=silence, channels_heard="the first 2 of 32")
    assert "--channel N takes another" in dict(session_state.state(wide))["microphone"]
    stereo = running_of(source=source, silence=silence)
    assert "--channel" not in dict(session_state.state(stereo))["microphone"]
