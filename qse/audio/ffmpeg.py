"""Read audio and video files that libsndfile does not support, and write video files, with the program ffmpeg.

ffmpeg runs as a process of its own and sends the first sound track as a WAV stream through a pipe.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from ..errors import QseError
from .formats import VIDEO, Layout, suffix_of
from .reader import BLOCK, SALVAGE, check_file, checked

ENCODERS = {"webm": "libopus", "mkv": "flac"}  # of the sound track of a video, by suffix; AAC for the others
INPUT = ("-hide_banner", "-nostdin", "-v", "error")


class FfmpegSource:
    """Read the first sound track of a file through ffmpeg; see AudioReader. Its length is unknown until the end."""

    def __init__(self, path: Path, name: str | None = None, salvage: bool = False):
        """Raises QseError if ffmpeg is not installed, or finds no sound in `path`."""
        self.path, self.name, self._salvage = path, name or str(path), salvage
        self.samples: int | None = None
        self.damage: str | None = None
        try:
            check_file(path, self.name)
        except FileNotFoundError as error:
            raise QseError(f"{self.name}: no such file") from error
        except OSError as error:
            raise QseError(f"{self.name} cannot be read: {error.strerror}") from error
        # to WAV; a sound track that begins later than the picture is padded at the front
        track = ("-map", "0:a:0", "-af", "aresample=async=1:first_pts=0", "-c:a", "pcm_f32le", "-f", "wav", "-")
        self._messages = TemporaryFile()  # noqa: SIM115  # closed by _close
        command = [_program(self.name), *INPUT, "-i", f"file:{path}", *track]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._messages
        )
        assert self._process.stdout
        self._pipe: IO[bytes] = self._process.stdout
        try:
            channels, rate = _read_header(self._pipe)
        except EOFError:
            self._process.wait()
            printed = self._printed()
            self._close()
            reason = _last_message(printed)
            if not reason or b"matches no streams" in printed:
                raise QseError(f"{self.name} has no sound track: name another file") from None
            raise QseError(f"{self.name} is not an audio file that ffmpeg reads: {reason}") from None
        self.layout = Layout(rate, channels, "WAV", "PCM_16", "FILE", {})

    def __enter__(self) -> "FfmpegSource":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield all samples in turn; see AudioReader."""
        read = 0
        for block in checked(self._read(), self.name, self.layout.sample_rate):
            read += len(block)
            yield block
        status, said = self._process.wait(), self._said()
        if status or said:
            reason = said or f"ffmpeg ended with status {status}"
            if not self._salvage:
                raise QseError(f"{self.name} is damaged: {reason}; {SALVAGE}")
            seconds = f"{read / self.layout.sample_rate:.2f} s were read"
            self.damage = f"{self.name} is damaged: {seconds}; the file does not say how much is missing ({reason})"
        if not read:
            raise QseError(f"{self.name} holds no samples")
        self._close()

    def _read(self) -> Iterator[np.ndarray]:
        channels = self.layout.channels
        size = 4 * channels * max(1024, BLOCK // channels)
        while data := self._pipe.read(size):
            used = len(data) // (4 * channels) * channels
            yield np.frombuffer(data, np.float32, used).reshape(-1, channels)

    def _said(self) -> str:
        return _last_message(self._printed())

    def _printed(self) -> bytes:
        self._messages.seek(0)
        return self._messages.read()

    def _close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._pipe.close()
        self._process.wait()
        self._messages.close()


def duration(path: Path) -> float:
    """Return the duration in seconds that ffmpeg finds in the header of `path`; 0 if it finds none."""
    program = shutil.which("ffmpeg")
    if program is None:
        return 0.0
    command = [program, "-hide_banner", "-nostdin", "-i", f"file:{path}"]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).stderr.decode(errors="replace")
    found = re.search(r"Duration: (\d+):(\d\d):(\d\d\.\d+)", said)
    return 3600 * int(found[1]) + 60 * int(found[2]) + float(found[3]) if found else 0.0


def write_video(source: Path, sound: Path, part: Path, target: Path) -> None:
    """Write `part`, with the streams of the video `source` and `sound` as its only sound track.

    `target` is the name that `part` will get; its suffix selects the format. Picture and subtitles are copied, not
    encoded again. Raises QseError if ffmpeg fails.
    """
    suffix = suffix_of(target)
    streams = ("-map", "0:v?", "-map", "1:a", "-map", "0:s?", "-map_metadata", "0", "-c", "copy")
    encoder = ("-c:a", ENCODERS.get(suffix, "aac"), "-b:a", "192k")
    inputs = ("-i", f"file:{source}", "-i", f"file:{sound}")
    command = [_program(str(target)), *INPUT, "-y", *inputs, *streams, *encoder, "-f", VIDEO[suffix], f"file:{part}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        reason = _last_message(done.stderr) or f"status {done.returncode}"
        raise QseError(f"{target} could not be written by ffmpeg ({reason}): name an output that ends in .wav")


def _program(name: str) -> str:
    program = shutil.which("ffmpeg")
    if program is None:
        raise QseError(
            f"{name} needs the program ffmpeg, which is not installed: install it, or convert the file to WAV"
        )
    return program


def _last_message(said: bytes) -> str:
    """Return the last line that ffmpeg printed, without file names and the addresses of its parts."""
    lines = said.decode(errors="replace").strip().splitlines()
    return re.sub(r"\[[^]]* @ 0x[0-9a-f]+\] |file:.*?: ", "", lines[-1]) if lines else ""


def _read_header(pipe: IO[bytes]) -> tuple[int, int]:
    """Read a WAV stream up to its samples; return channels and sample rate. EOFError if it ends before."""
    start = pipe.read(12)
    if len(start) < 12:
        raise EOFError
    channels = rate = 0
    while len(chunk := pipe.read(8)) == 8:
        if chunk[:4] == b"data":
            return channels, rate
        body = pipe.read(int.from_bytes(chunk[4:], "little"))
        if chunk[:4] == b"fmt ":
            channels, rate = int.from_bytes(body[2:4], "little"), int.from_bytes(body[4:8], "little")
    raise EOFError
