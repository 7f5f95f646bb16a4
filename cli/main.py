"""Run the command line: each command is one file of this folder with one function of the same name.

These files import nothing heavy at their top, so that each command starts fast and works without
the extras of others.
"""

import errno
import os
import shlex
import signal
import sys
import threading
from importlib import import_module
from io import TextIOWrapper
from traceback import walk_stack
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import qse
from qse.errors import QseError, UsageError
from qse.stop_signals import active_signals

from .hints import unknown_option
from .options import as_options
from .streams import open_streams, say, tell

COMMANDS = (
    "denoise",
    "clean",
    "live",
    "service",
    "enroll",
    "info",
    "prepare",
    "bundle",
    "train",
    "mix",
    "export",
    "evaluate",
    "plot",
    "experiment",
    "bench",
    "web",
)

LONGEST_SENTENCE = 200  # characters
HELP = {"help_option_names": ["-h", "--help"]}


class _Commands(TyperGroup):
    """Show whole sentences in the list of commands; name the command for a file in place of one."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first sentence of each command, wrapped where it is longer than a line."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.commands[name]
            rows.append((name, command.get_short_help_str(LONGEST_SENTENCE)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and os.path.exists(args[0]):
            raise UsageError(
                f"{args[0]} is no command: to remove noise from it, "
                f"run qse denoise {shlex.quote(args[0])}"
            )
        return super().resolve_command(ctx, args)


class _Command(TyperCommand):
    """Explain how a file is named that begins as an option does, and options of other programs."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            for text in given:
                if text.startswith("-") and os.path.isfile(text):
                    path = shlex.quote(os.path.join(os.curdir, text))
                    fault = f"{text} begins as an option does"
                    raise UsageError(f"{fault}: to name the file, write {path}") from error
            own = {name for parameter in self.params for name in parameter.opts}
            hint = unknown_option(getattr(error, "option_name", ""), own)
            if hint:
                raise UsageError(hint) from error
            raise


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP,
)
for name in COMMANDS:
    function = getattr(import_module(f".{name}", __package__), name)
    app.command(name, cls=_Command, context_settings=HELP)(function)


def _version(asked: bool) -> None:
    if asked:
        tell(f"qse {qse.__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Remove background noise from speech: in recordings and in a live microphone signal."""


def _end(number: int, frame: FrameType | None) -> None:
    """End the program, but not during an import, which could drop the exception and keep a lock.

    Where the program is waiting for its threads after its end, nothing is left to clean up.
    """
    callers = []
    for caller, _ in walk_stack(frame):
        callers.append((caller.f_code.co_filename, caller.f_code.co_name))
    if (threading.__file__, "_shutdown") in callers:
        os._exit(128 + number)
    if any(file.startswith("<frozen importlib") for file, _ in callers):
        again = threading.Timer(0.05, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _working_folder_exists() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def main() -> None:
    """Run the command line; end the process at once where ONNX Runtime works at something that
    nobody waits for any more."""
    try:
        _run()
    except SystemExit as end:
        deadline = sys.modules.get("qse.runtime.deadline")
        if deadline and deadline.is_abandoned():
            sys.stderr.flush()
            os._exit(end.code if isinstance(end.code, int) else 1)
        raise


def _run() -> None:
    """Run the command in the arguments; print a user's error as one sentence and exit with its
    status."""
    # processes of Python that are started import nothing from the working folder: recordings of
    # others may lie there, and a file multiprocessing.py beside them
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    try:
        for number in active_signals():
            signal.signal(number, _end)
        open_streams()
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # file names may be in any encoding
        app()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except QseError as error:
        say(f"qse: {as_options(str(error))}")
        sys.exit(error.status)
    except OSError as error:
        if (
            isinstance(error, FileNotFoundError)
            and not error.filename
            and not _working_folder_exists()
        ):
            say("qse: the working directory no longer exists: change to another one")
            sys.exit(1)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
        if not full and not error.filename:
            raise
        place = f"{error.filename}: " if error.filename else ""
        cure = "make room, or write to another place" if full else "name another place"
        say(f"qse: {place}{error.strerror}; {cure}")
        sys.exit(1)
    except ModuleNotFoundError as error:
        if not error.name or error.name.startswith("qse"):
            raise
        hint = (
            f'this command needs the package {error.name}: pip install "qse-speech[train,evaluate]"'
        )
        say(f"qse: {hint}")
        sys.exit(1)
