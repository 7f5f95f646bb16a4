"""qse denoise: noisy files in, enhanced files out; the same for a pipe."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated

import typer

from qse.errors import QseError, UsageError

from .options import Strength
from .streams import hush


def denoise(
    inputs: Annotated[list[str], typer.Argument(metavar="IN", help="Audio files, folders, patterns; - is stdin.")],
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="PATH", help="Where to: a file, a folder, - for stdout.")
    ] = None,
    model: Annotated[str, typer.Option(help="Name of a model (qse info lists them), or a path.")] = "live-base",
    strength: Strength = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Files to work on at once; else one per processor core.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace outputs that exist already.")] = False,
) -> None:
    """Enhance audio files: any format that libsndfile reads, any sample rate, any number of channels.

    Without -o, noisy.wav becomes noisy-enhanced.wav beside it. Format, sample rate and length stay as they are.
    Folders are searched to the bottom, past what an earlier run made, and a folder as output receives the same tree. A
    pipe gets WAV.
    """
    from qse.runtime.batch import cores, plan, run
    from qse.runtime.engine import Engine
    from qse.runtime.zoo import load

    engine = load(model, flush_to_zero=True)
    at_once = (threads or cores()) if isinstance(engine, Engine) else 1  # others take gigabytes each
    with _scratch(wanted="-" in (*inputs, output)) as scratch:
        jobs, errors = _pipe(inputs, output, scratch, overwrite) if scratch else plan(inputs, output)
        for error in errors:
            _say(f"qse: {error}")
        start, done = perf_counter(), []
        with _progress(jobs) as progress:
            for job, result in run(jobs, engine, strength, overwrite, at_once, progress):
                if isinstance(result, QseError):
                    _say(f"qse: {result}")
                    continue
                done.append(result)
                _say(f"{job} -> {_deliver(job.target, scratch)}")
        spent, audio = perf_counter() - start, sum(done)
    if done:
        files = "1 file" if len(done) == 1 else f"{len(done)} files"
        _say(f"{files}, {audio:.1f} s of audio in {spent:.2f} s: RTF {spent / audio:.3f}")
    if errors or len(done) < len(jobs):
        raise typer.Exit(1)


@contextmanager
def _scratch(wanted: bool) -> Iterator[Path | None]:
    """A folder for what goes through a pipe, gone afterwards."""
    if not wanted:
        yield None
        return
    try:
        folder = TemporaryDirectory(prefix="qse-")
    except OSError as error:
        raise QseError("a pipe needs a folder for temporary files, and there is none: name one by TMPDIR") from error
    with folder as name:
        yield Path(name)


def _pipe(inputs: list[str], output: str | None, scratch: Path, overwrite: bool) -> tuple[list, list]:
    """The one job that reads standard input, writes standard output or both, by way of files in `scratch`."""
    from qse.audio.formats import named_format
    from qse.audio.writer import check_target
    from qse.runtime.batch import Job

    if len(inputs) > 1 or Path(inputs[0]).is_dir():
        raise UsageError("- stands for one input and one output: name one file beside it")
    target = Path(output) if output not in (None, "-") else scratch / "out.wav"
    if target.is_dir() or (output or "").endswith(("/", os.sep)):
        raise UsageError(f"-o {output}: standard input has no name to be given in a folder; name a file")
    if target.parent == scratch and sys.stdout.isatty():
        raise UsageError("standard output is a terminal: send it to a file or a program, or use -o FILE")
    if inputs[0] != "-":
        return [Job(Path(inputs[0]), target)], []
    check_target(target, overwrite)  # before anything is read, for nobody can send it again
    if target.suffix:
        named_format(target)
    try:
        with (scratch / "in").open("wb") as file:
            copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        raise QseError(f"standard input cannot be kept in {scratch}: {error.strerror}") from error
    return [Job(scratch / "in", target, "standard input")], []


def _deliver(target: Path, scratch: Path | None) -> str:
    """Where the result went; what lies in `scratch` goes to standard output now."""
    if target.parent != scratch:
        return str(target)
    try:
        with target.open("rb") as file:
            copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as error:
        hush()
        raise QseError(f"standard output cannot be written: {error.strerror}") from error
    return "standard output"


@contextmanager
def _progress(jobs: list) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal's standard error, moved on by seconds of audio; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda seconds: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.completed:.0f} of {task.total:.0f} s of audio"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=sum(job.seconds() for job in jobs))
        yield lambda seconds: progress.advance(task, seconds)


def _say(text: str) -> None:
    with suppress(OSError):  # a log on a full disk: the files matter more
        print(text, file=sys.stderr)
