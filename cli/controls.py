"""The keys of qse live."""

import os
from collections.abc import Callable
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from qse.errors import QseError

if TYPE_CHECKING:
    from qse.live.recorder import Recorder
    from qse.live.session import LiveSession

HELP = ("+ - strength", "m mute", "b bypass", "r record", "q quit")
STEP = 3.0  # dB of the attenuation limit, per key
MOST = 30.0  # dB above which there is no limit


class Controls:
    """Change a live session as keys are pressed. `message`: why a recording could not begin, else
    None."""

    def __init__(self, session: "LiveSession", new_recorder: "Callable[[Path], Recorder]"):
        """`new_recorder` opens a recording at a path."""
        self._session = session
        self._new_recorder = new_recorder
        self.message: str | None = None

    def press(self, keys: str) -> None:
        """Handle keys, one after another; keys other than those of HELP, and the space bar for b,
        do nothing."""
        actions = {
            "+": self._stronger,
            "=": self._stronger,
            "-": self._weaker,
            "m": self._mute,
            "b": self._bypass,
        }
        actions |= {" ": self._bypass, "r": self._record, "q": self._session.stop}
        for key in keys.lower():
            if key in actions:
                actions[key]()

    def _stronger(self) -> None:
        limit = self._session.strength
        if limit is not None:
            self._session.strength = limit + STEP if limit + STEP <= MOST else None

    def _weaker(self) -> None:
        limit = self._session.strength
        self._session.strength = MOST if limit is None else max(0.0, min(MOST, limit - STEP))

    def _mute(self) -> None:
        self._session.muted = not self._session.muted

    def _bypass(self) -> None:
        self._session.bypass = not self._session.bypass

    def _record(self) -> None:
        """End the recording; if there is none, begin one in the current folder, named by the
        time."""
        self.message = None
        if self._session.recorder:
            self._session.record(None)
            return
        try:
            self._session.record(self._new_recorder(_free(datetime.now())))
        except QseError as error:
            self.message = str(error)


def _free(now: datetime) -> Path:
    """Return a path in the current folder, named by the time, at which there is no file."""
    stem = f"qse-{now:%Y%m%d-%H%M%S}"
    path = Path(f"{stem}.wav")
    for number in count(2):
        if not os.path.lexists(path):
            break
        path = Path(f"{stem}-{number}.wav")
    return path
