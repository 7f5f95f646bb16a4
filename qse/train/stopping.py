"""Stop a training run on a signal, or at a time limit."""

import time
from contextlib import AbstractContextManager
from typing import Any

import torch

from ..stop_signals import handled_by
from .exchange import average_


class StopRequest:
    """A request to stop this process: a signal within `signals()`, or `hours` since the object was
    made.

    begun: share of the time of the run that had passed before.
    """

    def __init__(self, hours: float | None = None):
        self.seconds = float("inf") if hours is None else 3600 * hours
        self.start = time.monotonic()
        self.signalled = False
        self.begun = 0.0

    def signals(self) -> AbstractContextManager[None]:
        """Treat signals as requests to stop; restore their former handlers at the end of the
        context."""
        return handled_by(self._signal)

    def due(self) -> bool:
        """Return whether to stop after the next step."""
        return self.signalled or time.monotonic() > self.start + self.seconds

    def passed(self) -> float:
        """Return the share of the time of the run that has passed: `begun` at first, 1 at the time
        limit."""
        elapsed = time.monotonic() - self.start
        return self.begun + (1 - self.begun) * elapsed / max(1e-9, self.seconds)

    def signalled_anywhere(self) -> bool:
        """Return, in every process alike, whether a signal has reached any of them."""
        signalled = torch.tensor([float(self.signalled)])
        average_([signalled])
        return bool(signalled > 0)

    def _signal(self, *_: Any) -> None:
        self.signalled = True
