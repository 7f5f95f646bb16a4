"""Read WAV files whose header was never finished, and say how much of a damaged audio file is
missing."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QseError
from .chunks import LONGEST
from .formats import Layout, native
from .inspection import Inspection
from .wav import Wav

if TYPE_CHECKING:
    import soundfile

HIDDEN = "is damaged: "  # before places that the decoder does not report
MOST = 0xFFFFFFFF - 0x1000  # bytes of sound that a repaired header announces at most


class WithHeader(io.RawIOBase):
    """Read a file as if its first bytes were others; it is not changed."""

    def __init__(self, path: Path, header: bytes, replaced: int):
        """header: stands in place of the first `replaced` bytes."""
        self._file = path.open("rb")
        self._added = len(header) - replaced
        self._header = header
        self._at = 0
        self._size = self._file.seek(0, io.SEEK_END) + self._added

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        if self.closed:
            raise ValueError("this is a closed file")
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        into = memoryview(buffer)
        part = self._header[self._at : self._at + len(into)]
        into[: len(part)] = part
        self._file.seek(max(self._at, len(self._header)) - self._added)
        count = len(part) + self._file.readinto(into[len(part) :])
        self._at += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def samples_offset(path: Path) -> int | None:
    """Return where the samples of a WAV file (RIFF, RF64) begin, None if it has no data chunk."""
    with path.open("rb") as file:
        start = file.read(12)
        if start[:4] not in (b"RIFF", b"RF64") or start[8:] != b"WAVE":
            return None
        while len(chunk := file.read(8)) == 8:
            if chunk[:4] == b"data":
                return file.tell()
            length = struct.unpack("<I", chunk[4:])[0]
            file.seek(length + length % 2, io.SEEK_CUR)
    return None


def open_sound(found: Inspection) -> soundfile.SoundFile:
    """Open a file with libsndfile. Raises SoundFileError if it cannot read it."""
    import soundfile

    header = found.read_with_header() if isinstance(found, Wav) else b""
    if header:
        return open_with_header(found.path, header, len(header))
    return soundfile.SoundFile(native(found.path))


def open_repaired(path: Path) -> soundfile.SoundFile:
    """Open a WAV file with an unfinished header with a header that reaches to its end; as RF64,
    whose header is longer, where sizes of 32 bits do not reach it."""
    import soundfile

    at = samples_offset(path)
    if at is None:
        raise soundfile.LibsndfileError(1)
    size = path.stat().st_size
    with path.open("rb") as file:
        header = bytearray(file.read(at))
    if header[:4] != b"RF64" and size > MOST:
        header[:12] = b"RF64\0\0\0\0WAVEds64" + struct.pack("<I24xI", 28, 0)
    if header[:4] == b"RF64":
        header[4:8] = header[-4:] = struct.pack("<I", LONGEST)
        header[20:36] = struct.pack("<QQ", size + len(header) - at - 8, size - at)  # chunk ds64
    else:
        header[4:8] = struct.pack("<I", size - 8)
        header[-4:] = struct.pack("<I", size - at)
    return open_with_header(path, bytes(header), at)


def open_with_header(path: Path, header: bytes, replaced: int) -> soundfile.SoundFile:
    """Open a file with other bytes in place of its first `replaced` ones."""
    import soundfile

    changed = WithHeader(path, header, replaced)

    class ChangedFile(soundfile.SoundFile):
        def close(self) -> None:  # soundfile leaves a file object open
            super().close()
            changed.close()

    return ChangedFile(changed)


def damage_of(found: Inspection, file: soundfile.SoundFile) -> str | None:
    """Return what is wrong with a file that can be salvaged."""
    if found.is_cut(file):
        return "is cut short: its end is missing; record or copy it again"
    if found.is_unfinished(file):
        reason = "its header is unfinished, as after a crash of the recorder"
        return f"holds more than libsndfile reads of it: {reason}"
    hidden = None if found.has_more(file) else found.hidden_damage(file)
    return f"{HIDDEN}{hidden}" if hidden else None


def read_behind(found: Inspection, layout: Layout, read: int) -> Iterator[np.ndarray]:
    """Yield the samples behind the first `read` ones, at which libsndfile has stopped, as far as
    ffmpeg finds any, also behind damage."""
    from .ffmpeg import FfmpegDecoder, is_readable

    if not found.ends_at_damage or not is_readable(found, str(found.path), salvage=True):
        return
    with suppress(QseError), FfmpegDecoder(found.path, salvage=True, inspection=found) as decoder:
        own = decoder.layout
        if (own.sample_rate, own.channels) == (layout.sample_rate, layout.channels):
            for block in decoder.blocks():
                if len(block) > read:
                    yield block[read:]
                read = max(0, read - len(block))


def missing_text(
    inspection: Inspection, file: soundfile.SoundFile, read: int, places: str | None
) -> str:
    """Return in words how much of a damaged file was `read` (samples per channel) and how much
    is missing; `places`: damage within it, where sound may also have been put in."""
    announced = inspection.announced(file)
    seconds = f"{read / file.samplerate:.2f} s were read"
    where = f" ({places})" if places else ""
    if announced is None or announced <= read:
        return f"{seconds}; the file does not say how much is missing{where}"
    missing = f"{(announced - read) / file.samplerate:.2f} s are missing"
    return f"{seconds}, {'at least ' if places else ''}{missing}{where}"
