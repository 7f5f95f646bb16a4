"""Standard streams that are closed, or take no more."""

import os
import sys


def open_streams() -> None:
    """Of a program that was started without standard streams: else the next file to be opened would be one of them."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


def hush() -> None:
    """Let go of a standard output that takes no more: what is still buffered would be tried once again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
