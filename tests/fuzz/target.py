"""Define a fuzzing target, and what must hold when it reads a damaged file."""

import io
import sys
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random


class Finding(Exception):
    """A damaged file had an effect that it must not have."""


class Target(ABC):
    """A kind of file.

    One case is one damaged file, determined by the seed and the number of the case. `counts`: what
    became of the cases, by words.
    """

    name = ""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Make intact files in `folder`, once."""

    @abstractmethod
    def run(self, folder: Path, rng: Random) -> None:
        """Damage a file in the empty `folder` and read it.

        Raises Finding, or what the reader should not raise.
        """


def qse(*arguments: object) -> tuple[int, str]:
    """Call the command line in this process: return status and what it printed to standard error.

    Raises Finding unless a failure is told in lines that begin with "qse: ".
    """
    from qse_cli.main import main

    out = io.StringIO()
    err = io.StringIO()
    sys.argv = ["qse", *map(str, arguments)]
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
    said = err.getvalue()
    if status not in (0, 1, 2):
        raise Finding(f"status {status}: {said}")
    if status and not any(line.startswith("qse: ") for line in said.splitlines()):
        raise Finding(f"status {status} without a reason: {said!r}")
    return status, said


def told(text: str, path: Path) -> None:
    """Raise Finding unless `text` is one line, of reasonable length, that names `path` or its
    result.

    The disk of a test is not full, so a message that says so is wrong.
    """
    if "disk full" in text:
        raise Finding(f"the disk is not full: {text!r}")
    if path.stem not in text:
        raise Finding(f"the message does not name {path.name}: {text!r}")
    if "\n" in text.strip() or len(text) > 1500:
        raise Finding(f"the message is no single sentence: {text[:3000]!r}")
