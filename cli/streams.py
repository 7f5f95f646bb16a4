"""Handle standard streams that are closed, that take no more, or that libraries write to."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def open_streams() -> None:
    """Open standard streams that the program was started without: else the next opened file would become one."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


def abandon_stdout() -> None:
    """Point a standard output that takes no more to nowhere, so that the exit does not try to flush it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Print a message to standard error; a log on a full disk does not end the program."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


@contextmanager
def libraries_silenced() -> Iterator[None]:
    """Discard what C libraries write to standard error; what Python prints still gets there."""
    before, error = os.dup(2), sys.stderr
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        with os.fdopen(os.dup(2), "w", buffering=1) as kept:
            sys.stderr = kept if error is sys.__stderr__ else error
            os.dup2(nowhere, 2)
            yield
    finally:
        os.dup2(before, 2)
        sys.stderr = error
        os.close(nowhere)
        os.close(before)
