"""Report what qse denoise does, while it does it."""

import sys
from pathlib import Path
from threading import Event

from qse_cli.denoise_report import DenoiseReport

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
