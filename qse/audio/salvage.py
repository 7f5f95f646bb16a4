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
from .formats import Layout
from .inspection import Inspection

if TYPE_CHECKING:
    import soundfile

HIDDEN = "is damaged: "  # before places that the decoder does not report
MOST = 0xFFFFFFFF - 0x1000  # bytes of sound that a repaired header announces at most


class RepairedWav(io.RawIOBase):
    """Read a WAV file as if the sizes in its header reached to the end of the file, which is not
    changed."""

    def __init__(self, path: Path, data: int):
        """`data`: offset of the samples in the file."""
        self._file = path.open("rb")
        size = self._file.seek(0, io.SEEK_END)
        self._file.seek(0)
        header = bytearray(self._file.read(data))
        if header[:4] == b"RF64":
            header[20:36] = struct.pack("<QQ", size - 8, size - data)  # in the chunk ds64
            header[data - 4 : data] = struct.pack("<I", LONGEST)
        else:
            header[4:8] = struct.pack("<I", min(MOST, size - 8))
            header[data - 4 : data] = struct.pack("<I", min(MOST, size - data))
        self._header = bytes(header)
        self._file.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        at = self._file.tell()
        count = self._file.readinto(buffer)
        part = self._header[at : at + count]
        memoryview(buffer)[: len(part)] = part
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


def open_repaired(path: Path) -> soundfile.SoundFile:
    """Open a WAV file with an unfinished header with a header that reaches to its end."""
    import soundfile

    at = samples_offset(path)
    if at is None:
        raise soundfile.LibsndfileError(1)
    repaired = RepairedWav(path, at)

    class RepairedFile(soundfile.SoundFile):
        def close(self) -> None:  # soundfile leaves a file object open
            super().close()
            repaired.close()

    return RepairedFile(repaired)


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
