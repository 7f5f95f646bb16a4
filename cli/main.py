"""The command line: every command is one file of this folder, holding one function of the same name.

Such a file imports nothing heavy at its top, so that each command starts fast and works without the extras of others.
"""

import errno
import os
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from threading import Timer
from traceback import walk_stack
from types import FrameType
from typing import Annotated

import typer

import qse
from qse.errors import QseError
from qse.stop_signals import requests

from .streams import open_streams

COMMANDS = ("denoise", "live", "info", "train", "mix", "export", "evaluate", "plot", "experiment", "bench", "web")

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for name in COMMANDS:
    app.command(name)(getattr(import_module(f".{name}", __package__), name))


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"qse {qse.__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Make noisy speech clean, in real time, with quaternion neural networks."""


def _end(number: int, frame: FrameType | None) -> None:
    """End the program, but not out of an import: that may drop the exception and keep a lock, for which others wait."""
    if any(caller.f_code.co_filename.startswith("<frozen importlib") for caller, _ in walk_stack(frame)):
        again = Timer(0.05, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
        return
    sys.exit(128 + number)


def main() -> None:
    """Run the command that the arguments ask for; a user's error is one sentence and its exit status."""
    open_streams()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may be in any encoding
    for number in requests():
        if number != signal.SIGINT:
            signal.signal(number, _end)
    try:
        app()
    except QseError as error:
        print(f"qse: {error}", file=sys.stderr)
        sys.exit(error.status)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
        if not full and not error.filename:
            raise
        place = f"{error.filename}: " if error.filename else ""
        cure = "make room, or write to another place" if full else "name another place"
        print(f"qse: {place}{error.strerror}; {cure}", file=sys.stderr)
        sys.exit(1)
    except ModuleNotFoundError as error:
        if not error.name or error.name.startswith("qse"):
            raise
        hint = f'this command needs the package {error.name}: pip install "qse-speech[train,evaluate]"'
        print(f"qse: {hint}", file=sys.stderr)
        sys.exit(1)
