"""Report what qse denoise does, while it does it."""

import io
import re
import sys
from pathlib import Path
from threading import Event

from qse_cli.denoise_report import DenoiseReport, minutes
from rich.console import Console

from qse.runtime import batch
from qse.runtime.batch_plan import FileJob


def test_work_begins_before_all_lengths_are_known(monkeypatch):
    asked = Event()
    answered = Event()

    def slow(_: Path) -> float:
        asked.set()
        assert answered.wait(60)
        return 1.0

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(batch, "sound_seconds", slow)
    report = DenoiseReport(quiet=False, json=False, deliver=str)
    jobs = [FileJob(Path("a.m4a"), Path("b.m4a")), FileJob(Path("c.m4a"), Path("d.m4a"))]
    with report.progress(jobs) as advance:
        assert asked.wait(60)
        advance(0.5)
        answered.set()


def test_durations_are_minutes_and_seconds():
    shown = [minutes(seconds) for seconds in (0, 59.6, 75, 3599.4, 3675, 36000)]
    assert shown == ["0:00", "1:00", "1:15", "59:59", "1:01:15", "10:00:00"]


def test_the_bar_shows_the_file_and_the_minutes_done(monkeypatch):
    """And takes brackets in a name as they are."""
    shown = io.StringIO()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(
        "rich.console.Console",
        lambda **how: Console(file=shown, force_terminal=True, width=100),
    )
    known = Event()
    monkeypatch.setattr(batch, "sound_seconds", lambda _: known.set() or 600.0)
    report = DenoiseReport(quiet=False, json=False, deliver=str)
    with report.progress([FileJob(Path("talk [red].wav"), Path("b.wav"))]) as advance:
        advance(130.0)
        assert known.wait(60)
        advance(70.0)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.getvalue())
    assert "talk [red].wav" in text and "3:20" in text and "left" in text
