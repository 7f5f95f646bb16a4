"""The keys of qse live, on a session that nothing plays."""

from types import SimpleNamespace

import pytest
from qse_cli.controls import Controls

from qse.errors import QseError


class Session(SimpleNamespace):
    """Test what keys change."""

    def __init__(self, **changes):
        standing = {
            "strength": None,
            "muted": False,
            "bypass": False,
            "recorder": None,
            "stops": 0,
            "ended": [],
        }
        super().__init__(**{**standing, **changes})

    def stop(self):
        self.stops += 1

    def record(self, recorder):
        self.ended += [self.recorder] if self.recorder else []
        self.recorder = recorder


@pytest.mark.parametrize(
    "before, keys, after",
    [
        (None, "-", 30),
        (None, "---", 24),
        (None, "+", None),
        (30, "+", None),
        (12, "+=", 18),
        (20, "-", 17),
        (2, "-", 0),
        (0, "-", 0),
        (0, "+", 3),
        (80, "-", 30),
    ],
)
def test_controls_change_strength_in_steps(before, keys, after):
    session = Session(strength=before)
    Controls(session, None).press(keys)
    assert session.strength == after


def test_controls_toggle():
    session = Session()
    controls = Controls(session, None)
    controls.press("mb")
    assert (session.muted, session.bypass) == (True, True)
    controls.press("M x")
    assert (session.muted, session.bypass) == (False, False)
    controls.press("q")
    assert session.stops == 1


def test_controls_record_to_a_new_file_each_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def new_recorder(path):
        path.touch()
        return path

    session = Session()
    controls = Controls(session, new_recorder)
    controls.press("r")
    assert session.recorder.name.startswith("qse-2") and session.recorder.suffix == ".wav"
    controls.press("rrr")
    assert (
        session.recorder is None and len(set(session.ended)) == len(list(tmp_path.iterdir())) == 2
    )


def test_controls_show_why_a_recording_cannot_begin():
    def new_recorder(path):
        raise QseError(f"{path} cannot be written")

    session = Session()
    controls = Controls(session, new_recorder)
    controls.press("r")
    assert session.recorder is None and "cannot be written" in controls.message
