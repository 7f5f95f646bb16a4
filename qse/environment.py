"""Set a variable of the environment for a time, for libraries and processes that read it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Let a variable have this value until the end of the context."""
    former = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if former is not None:
            os.environ[name] = former
