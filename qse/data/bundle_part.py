"""Write a part of a bundle, and read one that comes from another machine.

A part is a ZIP file without compression: `bundle.json` (bundle_index.py), then the shards
`0000.opus`, `0001.opus`, ... Nothing is unpacked: shards are read into memory, by their numbers in
the index. A ZIP file has its directory at its end, so a part without its end cannot be opened.
"""

import hashlib
import struct
import zipfile
from io import BufferedReader
from pathlib import Path

import numpy as np

from ..audio.file_mode import Readers, Source
from ..audio.opus import NotDecoded, decode
from ..audio.writer import atomic_target
from ..errors import QseError
from . import bundle_index
from .bundle_index import PartIndex, shard_name

INDEX = "bundle.json"
HEAD = 30  # bytes in front of the name of the first file in a ZIP file
BEGIN = b"PK\x03\x04"
MOST_INDEX = 64 << 20  # bytes
MOST_DIRECTORY = 4 << 20  # bytes, of which a shard takes 55
LEAST_KBIT = 1.0  # of a shard: less decodes to an unreasonable amount of audio
DATE = (1980, 1, 1, 0, 0, 0)  # of all files in a part
# what the module zipfile raises for files that are damaged, or made to do harm
ZIP_FAULTS = (
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
)


class Refused(QseError):
    """A file is no part that can be taken in; the text names it, the cause and the cure."""


def write(
    path: Path,
    index: PartIndex,
    shards: list[bytes],
    overwrite: bool = False,
    source: Source | None = None,
) -> None:
    """Write a part atomically. source: a file whose permissions it does not exceed.

    Raises QseError if that fails, or if it exists.
    """
    with atomic_target(path, overwrite, source=source) as part, zipfile.ZipFile(part, "w") as file:
        file.writestr(zipfile.ZipInfo(INDEX, DATE), index.text())
        for number, data in enumerate(shards):
            file.writestr(zipfile.ZipInfo(shard_name(number), DATE), data)


def size_with(index: PartIndex, shards: list[bytes]) -> int:
    """Return the bytes of a part."""
    text = len(index.text())
    of_shards = sum(len(data) + 2 * (HEAD + 36) for data in shards)
    return text + of_shards + 400


class _Source(BufferedReader):
    """The file of a part, of which at most `most` bytes are read at once: `zipfile` reads the
    directory as a whole, and a hole on the disk may pass for one of any size."""

    most: int | None = MOST_DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        if self.most is not None and size is not None and size > self.most:
            raise zipfile.BadZipFile("its directory is too large")
        return super().read(size)


def _archive(source: _Source) -> zipfile.ZipFile:
    """Return the archive in `source`, which is closed where there is none."""
    try:
        found = zipfile.ZipFile(source)
    except BaseException:
        source.close()
        raise
    source.most = None
    return found


class BundlePart:
    """Read a part: a context manager. `index`: what it holds; `identity`: one of its own;
    `readers`: who may read it.

    Raises Refused if the file is no part, cut, or not what its index says.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            if not path.is_file():
                raise Refused(f"{path.name} is no regular file: remove it")
            self._size = path.stat().st_size
            self._source = _Source(path.open("rb", buffering=0))
            self.readers = Readers.of(self._source.fileno())
            self._file = _archive(self._source)
        except OSError as error:
            raise Refused(f"{path.name} cannot be read ({error.strerror})") from error
        except ZIP_FAULTS as error:
            raise self._not_whole() from error
        try:
            text = self._read(INDEX, MOST_INDEX).decode()
            self.index = bundle_index.read(text)
            self._check()
        except (*ZIP_FAULTS, OSError) as error:
            self._close()
            raise self._not_whole() from error
        except Refused:
            self._close()
            raise
        self.identity = bundle_index.identity(text)

    def __enter__(self) -> "BundlePart":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def audio(self, number: int) -> np.ndarray:
        """Return shard `number` as int16 (samples,). Raises Refused if it is damaged."""
        shard = self.index.shards[number]
        try:
            data = self._read(shard_name(number), self._size)
            if hashlib.sha256(data).hexdigest() != shard.sha256:
                raise NotDecoded("its checksum is another one")
            return decode(data, shard.sample_rate, shard.samples)
        except (*ZIP_FAULTS, OSError) as error:
            cause = f"{error}" if isinstance(error, NotDecoded) else "it cannot be read"
            raise Refused(
                f"{self.path.name} is damaged (shard {number}: {cause}): copy it again"
            ) from error

    def _close(self) -> None:
        self._file.close()
        self._source.close()

    def _read(self, name: str, limit: int) -> bytes:
        """Return a file of the archive. Raises ValueError if it is compressed or too large."""
        found = self._file.getinfo(name)
        if found.compress_type != zipfile.ZIP_STORED or found.flag_bits & 1:
            raise ValueError("compressed")
        if max(found.file_size, found.compress_size) > min(limit, self._size):
            raise ValueError("too large")
        return self._file.read(found)

    def _check(self) -> None:
        """Check that the shards are there, and not longer than files of their size can be."""
        sizes = {found.filename: found.file_size for found in self._file.infolist()}
        expected = {shard_name(number) for number in range(len(self.index.shards))}
        if sizes.keys() != expected | {INDEX} or sum(sizes.values()) > self._size:
            raise ValueError("other files than in the index")
        for number, shard in enumerate(self.index.shards):
            kbit = 8e-3 * sizes[shard_name(number)] * shard.sample_rate / shard.samples
            if kbit < LEAST_KBIT:
                raise ValueError("too long")

    def _not_whole(self) -> Refused:
        """Return the error for a file that cannot be opened."""
        with self.path.open("rb") as file:
            begin = file.read(HEAD + len(INDEX))
        if not begin or (begin.startswith(BEGIN) and begin.endswith(INDEX.encode())):
            return Refused(f"{self.path.name} is cut or damaged: copy it again")
        return Refused(f"{self.path.name} is no part of a bundle: remove it")
