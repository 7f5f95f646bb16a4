"""Stop a training run on a signal, or at a time limit."""

import time
from contextlib import AbstractContextManager
from typing import Any

import torch

from ..stop_signals import handled_by
from .exchange import average_


class StopRequest:
    """A request to stop this process: a signal within `signals()`, or `hours` since the object was
    made."""

    def __init__(self, hours: float | None = None):
        self.deadline = float("inf") if hours is None else time.monotonic() + 3600 * hours
        self.signalled = False

    def signals(self) -> AbstractContextManager[None]:
        """Treat signals as requests to stop; restore their former handlers at the end of the
        context."""
        return handled_by(self._signal)

    def due(self) -> bool:
        """Return whether to stop after the next step."""
        return self.signalled or time.monotonic() > self.deadline

    def signalled_anywhere(self) -> bool:
        """Return, in every process alike, whether a signal has reached any of them."""
        signalled = torch.tensor([float(self.signalled)])
        average_([signalled])
        return bool(signalled > 0)

    def _signal(self, *_: Any) -> None:
        self.signalled = True
