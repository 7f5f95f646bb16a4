"""Read standard input and write standard output or devices for qse denoise, through temporary
files."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from qse.errors import QseError, UsageError
from qse.whole_copy import copy_whole

from .streams import abandon_stdout, were_closed

if TYPE_CHECKING:
    from qse.runtime.batch_plan import FileJob

STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_pipe(inputs: list[str], output: str | None) -> bool:
    """Return whether the input is standard input, or the output standard output or a device such as
    /dev/null."""
    return any(text in STDIN for text in inputs) or output in STDOUT or _is_device(output)


@contextmanager
def scratch_folder(wanted: bool) -> Iterator[Path | None]:
    """Yield a temporary folder if it is `wanted`, else None."""
    if not wanted:
        yield None
        return
    from qse.audio.private_folder import private_folder

    with ExitStack() as stack:
        try:
            folder = stack.enter_context(private_folder())
        except OSError as error:
            raise QseError(
                "a pipe needs a folder for temporary files, and there is none: name one by TMPDIR"
            ) from error
        yield folder


def pipe_job(inputs: list[str], output: str | None, scratch: Path, overwrite: bool) -> "FileJob":
    """Return the job that reads standard input, writes standard output or a device, or both,
    through `scratch`."""
    from qse.audio.ffmpeg_input import need_ffmpeg
    from qse.audio.file_mode import allowed_of
    from qse.audio.formats import named_format, suffix_of
    from qse.audio.suffixes import MEDIA
    from qse.audio.writer import try_target
    from qse.runtime.batch_plan import FileJob

    if len(inputs) > 1 or Path(inputs[0]).is_dir():
        raise UsageError("a pipe or device has one input and one output: name one file beside it")
    to_stream = output is None or output in STDOUT or _is_device(output)
    target = scratch / "out.wav" if to_stream else Path(output or "")
    if target.is_dir() or (output or "").endswith(("/", os.sep)):
        raise UsageError(
            f"-o {output}: standard input has no name to be given in a folder; name a file"
        )
    to_stdout = to_stream and not _is_device(output)
    if to_stdout and "stdout" in were_closed:
        raise UsageError("standard output is closed: use -o FILE")
    if to_stdout and sys.stdout.isatty():
        raise UsageError(
            "standard output is a terminal: send it to a file or a program, or use -o FILE"
        )
    if inputs[0] not in STDIN:
        return FileJob(Path(inputs[0]), target, is_named=True)
    # before reading: the input of a pipe cannot be sent again
    if suffix_of(target) in MEDIA:
        need_ffmpeg(str(target))
    else:
        named_format(target)
    try_target(target, overwrite)
    try:
        with (scratch / "in").open("wb") as file:
            copy_whole(sys.stdin.buffer, file)
        (scratch / "in").chmod(allowed_of(sys.stdin, (scratch / "in").stat().st_gid))
    except OSError as error:
        cure = "name a folder with more room by TMPDIR"
        raise QseError(
            f"standard input cannot be kept in {scratch}: {error.strerror}; {cure}"
        ) from error
    return FileJob(scratch / "in", target, "standard input", is_named=True)


def deliver(result: Path, output: str | None, scratch: Path | None) -> str:
    """Copy a result in `scratch` to standard output or to the device `output`; return the name of
    where it is."""
    if result.parent != scratch:
        return str(result)
    device = None if output is None or output in STDOUT else output
    try:
        with result.open("rb") as file:
            if device:
                with _opened(device) as to:
                    copy_whole(file, to)
            else:
                copy_whole(file, sys.stdout.buffer)
    except OSError as error:
        if not device:
            abandon_stdout()
        raise QseError(
            f"{device or 'standard output'} cannot be written: {error.strerror}"
        ) from error
    return device or "standard output"


def _opened(device: str) -> BinaryIO:
    """Open a device for writing; its name may be that of a file by now, which stays as it is."""
    from qse.audio.held_folder import BINARY, NO_WAIT

    descriptor = os.open(device, os.O_WRONLY | NO_WAIT | BINARY)
    if not stat.S_ISCHR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise QseError(f"{device} is no device any more: name another output")
    if NO_WAIT:
        os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "wb")


def _is_device(output: str | None) -> bool:
    try:
        return bool(output) and stat.S_ISCHR(os.stat(output or "").st_mode)
    except OSError:
        return False
