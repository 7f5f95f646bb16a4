"""Record and play through a PulseAudio server by its programs parec and pacat, with the interface
of sounddevice.

A program can be killed at any time, whatever state the server is in; a client library in this
process cannot be.
"""

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from threading import Thread, current_thread
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np

from .pulse_server import PulseError, in_english

CLIENT = "qse"  # the name under which the server lists these streams
NAMES = (f"--client-name={CLIENT}", f"--stream-name={CLIENT}")
# seconds of a recording that the server may pass on at once; larger ones are no reserve, only delay
FRAGMENT = 0.02
# microseconds of processor time without waiting, at real-time priority, after which a program ends
BUSIEST = 200_000
PIPE_BYTES = 4096  # of the pipe to pacat: 21 ms of mono float32 at 48 kHz


class PulseStream:
    """One parec or pacat, and a thread that passes blocks between its pipe and a callback."""

    def __init__(
        self,
        line: list[str],
        wanted: dict[str, Any],
        may_move: Callable[[str], bool] = lambda _: True,
    ):
        """`wanted`: the arguments of a sounddevice stream. If the stream is moved to another
        device, and `may_move` returns false for the name of that, the stream ends; so it does for
        the first device. `connected`: its present device."""
        self._wanted = wanted
        self._may_move = may_move
        self._records = line[0] == "parec"
        latency = min(wanted["latency"], FRAGMENT) if self._records else wanted["latency"]
        milliseconds = max(10, round(1000 * latency))
        self._pipe_delay = (
            0.0 if self._records else PIPE_BYTES / (4 * wanted["channels"] * wanted["samplerate"])
        )
        self.latency = milliseconds / 1000 + self._pipe_delay
        self._underflow = False
        self.connected: str | None = None
        self._line = [
            *line,
            "--raw",
            f"--rate={wanted['samplerate']}",
            f"--channels={wanted['channels']}",
        ]
        self._line += ["--format=float32le", f"--latency-msec={milliseconds}", *NAMES, "--verbose"]
        self._process: subprocess.Popen | None = None
        self._sound: Any = None  # the pipe that carries samples
        self._threads = [
            Thread(target=work, name="qse pulse", daemon=True)
            for work in (self._run, self._read_status)
        ]

    def start(self) -> None:
        """Begin to record or play. Raises PulseError if the program is missing."""
        try:  # in a session of its own, for Ctrl-C must not end it before the model is done
            self._process = subprocess.Popen(
                self._line,
                stdin=subprocess.DEVNULL if self._records else subprocess.PIPE,
                stdout=subprocess.PIPE if self._records else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=in_english(),
            )
        except OSError as error:
            raise PulseError(
                f"the program {self._line[0]} cannot be started: {error.strerror}"
            ) from error
        _limit(self._process.pid)
        self._sound = self._process.stdout if self._records else self._process.stdin
        if not self._records:
            _shrink(self._sound)
        for thread in self._threads:
            thread.start()

    def abort(self, ignore_errors: bool = True) -> None:
        """End at once."""
        if self._process:
            self._process.kill()
            for thread in self._threads:
                if thread is not current_thread():
                    thread.join(1)

    def close(self, ignore_errors: bool = True) -> None:
        """Release everything."""
        self.abort()
        if self._process and self._process.stderr:
            self._process.wait()
            if not any(thread.is_alive() for thread in self._threads):
                for pipe in (self._sound, self._process.stderr):
                    with suppress(OSError):  # unwritten samples have nowhere to go
                        pipe.close()

    def _run(self) -> None:
        assert self._process
        block = np.zeros((self._wanted["blocksize"], self._wanted["channels"]), np.float32)
        pass_on = self._record if self._records else self._play
        with suppress(
            OSError, ValueError
        ):  # the server or the program is gone, or the pipe was closed
            while pass_on(block):
                pass
        self._process.kill()
        self._wanted["finished_callback"]()

    def _record(self, block: np.ndarray) -> bool:
        if self._sound.readinto(_bytes(block)) < block.nbytes:
            return False
        self._call(block)
        return True

    def _play(self, block: np.ndarray) -> bool:
        self._call(block)
        self._sound.write(_bytes(block))
        self._sound.flush()
        return True

    def _call(self, block: np.ndarray) -> None:
        # not known
        time = SimpleNamespace(
            currentTime=monotonic(), inputBufferAdcTime=0.0, outputBufferDacTime=0.0
        )
        flags = SimpleNamespace(input_overflow=False, output_underflow=self._underflow)
        self._underflow = False
        self._wanted["callback"](block, len(block), time, flags)

    def _read_status(self) -> None:
        """Note latency, underruns and a move to another device from what the program prints."""
        assert self._process and self._process.stderr
        while text := os.read(self._process.stderr.fileno(), 1 << 12):
            if found := re.findall(rb"Latency: (\d+) usec", text):
                self.latency = int(found[-1]) / 1e6 + self._pipe_delay
            self._underflow |= b"underrun" in text
            for name in re.findall(rb"(?:Connected|Stream moved) to device ([^\s(]\S*)", text):
                self._move(name.decode())

    def _move(self, device: str) -> None:
        """Note the device that the stream is on now; end the stream if it may not be there."""
        assert self._process
        with suppress(PulseError):  # the server is gone, and this program with it
            if self._may_move(device):
                self.connected = device
            else:
                self._process.kill()


def _bytes(block: np.ndarray) -> memoryview:
    return block.data.cast("B")


def _limit(pid: int) -> None:
    """Have the system kill a program that keeps a core busy at real-time priority.

    parec and pacat poll without waiting after this process was killed, until the server sends or
    asks for more, which has no core then.
    """
    import resource

    if hasattr(resource, "prlimit"):
        with suppress(OSError, ValueError):  # it has ended already, or has a lower limit
            resource.prlimit(pid, resource.RLIMIT_RTTIME, (BUSIEST, BUSIEST))


def _shrink(pipe: Any) -> None:
    """Let the pipe hold little sound, which would be latency."""
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
