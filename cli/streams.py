"""Handle standard streams that are closed, that can no longer be written, or that libraries write
to."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from qse.printable import printable, shortened

were_closed: set[str] = set()  # names of standard streams when the program began


def open_streams() -> None:
    """Open the null device as each closed standard stream: otherwise the next opened file would get
    its number."""
    number = 0
    while number <= 2:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
            were_closed.add(name)


def abandon_stdout() -> None:
    """Redirect standard output to the null device after a failed write, so that the exit does not
    flush it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Print a message to standard error, in one line; ignore a failed write, as to a log on a full
    disk."""
    with suppress(OSError):
        print(shortened(text), file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """Print a result to standard output, its lines as they are but for control characters."""
    print("\n".join(map(printable, text.split("\n"))), flush=True)


@contextmanager
def libraries_silenced() -> Iterator[None]:
    """Discard what C libraries write to standard error; keep what Python prints to it."""
    before = os.dup(2)
    error = sys.stderr
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        with os.fdopen(os.dup(2), "w", 1, error.encoding, "backslashreplace") as kept:
            sys.stderr = kept if error is sys.__stderr__ else error
            os.dup2(nowhere, 2)
            yield
    finally:
        os.dup2(before, 2)
        sys.stderr = error
        os.close(nowhere)
        os.close(before)
