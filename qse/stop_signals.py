"""The polite requests to end a program: Ctrl-C, kill, a terminal that closes."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def requests() -> list[int]:
    """Those that this system has and that nobody told this process to ignore, as nohup and a shell's & do."""
    known = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    return [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def heard_by(handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Each of `requests` goes to `handler`; whoever heard them before does so again afterwards."""
    before = {number: signal.signal(number, handler) for number in requests()}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
