"""Stop a training run on a signal, which abandons the step that is computed, or at a time limit."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..stop_signals import handled_by
from .exchange import average_

Abandonable = Callable[[], AbstractContextManager[None]]


class StepAbandoned(BaseException):
    """A signal came while a step was computed. No Exception, which code in the step may catch."""


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
        self._abandonable = False

    def signals(self) -> AbstractContextManager[None]:
        """Treat signals as requests to stop; restore their former handlers at the end of the
        context."""
        return handled_by(self._signal)

    @contextmanager
    def abandonable(self) -> Iterator[None]:
        """Raise StepAbandoned within the context when a signal comes; at once if one has come."""
        try:
            self._abandonable = True
            if self.signalled:
                raise StepAbandoned
            yield
        finally:
            self._abandonable = False

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
        if self._abandonable:
            self._abandonable = False
            raise StepAbandoned


@contextmanager
def interruptible(parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Let Python handle signals during a backward pass: when the gradient of each of these is
    complete."""
    handles = []
    for parameter in parameters:
        if parameter.requires_grad:
            handles.append(parameter.register_post_accumulate_grad_hook(_handle_signals))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _handle_signals(_: Tensor) -> None:
    """Do nothing: before any function begins, Python calls the handlers of signals that have
    come."""
