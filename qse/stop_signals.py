"""Handle the signals that ask a program to end: SIGINT (Ctrl-C), SIGTERM (kill) and SIGHUP
(a terminal that closes)."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from typing import Any

PATIENCE = 3  # signals after which a program that is still ending is ended at once
LONGEST = 4.0  # seconds from the second signal to that end


def active_signals() -> list[int]:
    """Return those of them that this system has and that this process does not ignore
    (nohup and a shell's & do)."""
    active = []
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            active.append(number)
    return active


@contextmanager
def handled_by(handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Install `handler` for all active signals; restore the former handlers at the end, except
    where another one was installed meanwhile."""
    before = {number: signal.signal(number, handler) for number in active_signals()}
    try:
        yield
    finally:
        for number, earlier in before.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, earlier)


@contextmanager
def collected(give_up: Callable[[int], object]) -> Iterator[list[int]]:
    """Yield a list to which each active signal adds its number; from the third one on, or LONGEST
    seconds after the second one, call `give_up(number)` too."""
    numbers: list[int] = []
    timers: list[Timer] = []

    def collect(number: int, frame: object) -> None:
        numbers.append(number)
        if len(numbers) >= PATIENCE:
            give_up(number)
        elif len(numbers) == PATIENCE - 1:
            timer = Timer(LONGEST, give_up, (number,))
            timer.daemon = True
            timer.start()
            timers.append(timer)

    try:
        with handled_by(collect):
            yield numbers
    finally:
        for timer in timers:
            timer.cancel()


@contextmanager
def put_off() -> Iterator[None]:
    """Obey the active signals at the end of the block, so that nothing is left half done; the third
    one, or LONGEST seconds after the second, ends the process. In another thread than the main one,
    which gets no signals, nothing changes."""
    if current_thread() is not main_thread():
        yield
        return
    with collected(lambda number: os._exit(128 + number)) as numbers:
        yield
    if numbers:
        signal.raise_signal(numbers[0])
