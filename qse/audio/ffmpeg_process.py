"""Run ffmpeg and ffprobe: nothing else in this package starts them.

A process that gives nothing for STALL seconds, or whose job has been cancelled, is ended.
"""

import errno
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import IO

from .ffmpeg_input import COMMON, last_message, program
from .ffmpeg_messages import Messages

STALL = 60.0  # seconds
TICK = 0.1  # seconds between two checks
MOST_OUTPUT = 64 << 20  # bytes that are collected from a process
OF_DISKS = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))

_cancelled: ContextVar[Callable[[], bool]] = ContextVar("cancelled", default=lambda: False)


@contextmanager
def ended_when(cancelled: Callable[[], bool]) -> Iterator[None]:
    """End the processes that this thread starts meanwhile as soon as `cancelled` returns true."""
    before = _cancelled.set(cancelled)
    try:
        yield
    finally:
        _cancelled.reset(before)


class Child:
    """A running ffmpeg or ffprobe whose standard output is read; a context manager that ends it.
    `stalled`: whether it was ended because it gave nothing for STALL seconds.

    Raises OSError if it cannot be started.
    """

    def __init__(self, name: str, options: list[str], wanted: re.Pattern[bytes] | None = None):
        """`name`: ffmpeg or ffprobe. `wanted`: in messages that are kept, all if it is None."""
        path = program(name)
        if path is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        self.stalled = False
        self._waiting = False
        self._closed = Event()
        stdin = ["-nostdin"] if name == "ffmpeg" else []
        self._process = subprocess.Popen(
            [path, *COMMON, *stdin, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stdout and self._process.stderr
        self._messages = Messages(self._process.stderr, wanted)
        self._pipe: IO[bytes] = self._process.stdout
        self._idle = 0.0
        self._watcher = Thread(target=self._watch, args=(_cancelled.get(),), daemon=True)
        self._watcher.start()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._watcher.join()
        if self._process.poll() is None:
            self._process.kill()
        self._pipe.close()
        self._process.wait()
        self._messages.wait()

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes of the output, fewer at its end."""
        data = bytearray()
        while len(data) < size:
            self._idle = 0.0
            self._waiting = True
            piece = self._pipe.read1(size - len(data))  # type: ignore[attr-defined]
            self._waiting = False
            if not piece:
                break
            data += piece
        return bytes(data)

    def wait(self) -> int:
        """Return the status when the process has ended: negative where a signal ended it."""
        self._idle = 0.0
        self._waiting = True
        status = self._process.wait()
        self._messages.wait()
        return status

    def messages(self) -> bytes:
        """Return what the process has printed to standard error, of much the beginning and the
        end."""
        return self._messages.read()

    def _watch(self, cancelled: Callable[[], bool]) -> None:
        while not self._closed.wait(TICK):
            self._idle += TICK if self._waiting else 0.0  # counted, as a paused process is not idle
            self.stalled = self._idle > STALL
            if self.stalled or cancelled():
                self._process.kill()
                return


@dataclass(frozen=True)
class Done:
    """The end of a process: its status, its output, the reason that it gave for a failure, and all
    that it printed to standard error."""

    status: int
    output: bytes
    reason: str
    said: str = ""


def run(name: str, options: list[str]) -> Done:
    """Run ffmpeg or ffprobe to its end; more than MOST_OUTPUT bytes of output end it too."""
    with Child(name, options) as child:
        output = bytearray()
        while piece := child.read(1 << 16):
            output += piece
            if len(output) > MOST_OUTPUT:
                return Done(-1, b"", f"{name} printed more than {MOST_OUTPUT >> 20} MiB")
        status = child.wait()
        said = child.messages()
        reason = last_message(said) or f"status {status}"
        return Done(status, bytes(output), reason, said.decode(errors="replace"))


def write_file(options: list[str], path: Path) -> Done:
    """Let ffmpeg write `path`; its reports of progress show that it does not stand still.

    Raises OSError if it says that the disk is full, with which it may end like one that succeeds.
    """
    done = run("ffmpeg", ["-y", "-progress", "pipe:1", *options, f"file:{path}"])
    for code in OF_DISKS:
        if os.strerror(code) in done.said:
            raise OSError(code, f"{os.strerror(code)} (is the disk full?)")
    return done
