"""Read and copy the metadata of formats that consist of chunks: WAV, AIFF, CAF."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar, Self

from .bytes_behind import bytes_behind
from .chunk_copy import chunk_names, copy_chunks
from .chunks import MOST, W64_RIFF, Container, Dialect, is_identifier, read_container
from .copied import Copied
from .core_audio import layout_in
from .id3 import front_end
from .id3_frames import repeated_frames
from .inspection import HEAD, SLOPPY, Inspection
from .probe import Media
from .stated_size import is_open

if TYPE_CHECKING:
    import soundfile

READ_AS_TAGS = ("INFO", "bext", "id3", "ID3", "NAME", "AUTH", "ANNO", "(c)", "info", "chan", "CHAN")
FILES = (b"RIFF", b"RIFX", b"RF64", b"BW64", b"FORM", b"caff", W64_RIFF)  # how a joined file begins
# chunks that a program writes behind the samples at last, so that a crash cuts them
TEXTS = (b"LIST", b"INFO", b"id3 ", b"ID3 ", b"bext", b"iXML", b"axml", b"cue ", b"_PMX", b"info")


class Chunked(Inspection):
    """A file of chunks; `container`: these. Behind an ID3 tag they are checked, not copied.
    `dialect`: their layout, where the family has one."""

    dialect: ClassVar[Dialect]
    states_positions = True
    has_times = False

    container: Container | None = None
    _is_behind_tag = False
    _unread = 0
    _lacks = 0

    @classmethod
    def of(cls, path: Path, kind: str | None, file: IO[bytes], head: bytes) -> Self:
        found = super().of(path, kind, file, head)
        begin = 0 if head else front_end(file)
        found._is_behind_tag = begin > 0
        file.seek(begin)
        dialect = cls.dialect_of(head or file.read(HEAD))
        found.container = read_container(path, file, dialect, begin)
        found._unread = found._bytes_unread(file)
        found._lacks = 0 if begin else found._bytes_lacking(head)
        has_layout = layout_in(found.container) is not None
        found.has_other_positions = has_layout and found.channel_mask is None
        return found

    @classmethod
    def dialect_of(cls, head: bytes) -> Dialect:
        """Return the layout of the chunks of a file of this family that begins with `head`."""
        return cls.dialect

    @property
    def ends_early(self) -> bool:
        data = self.container.sound if self.container else None
        return bool(self.container and data and data.missing > self.container.dialect.padding)

    def _missing_bytes(self, file: soundfile.SoundFile) -> tuple[int, int]:
        data = self.container.sound if self.container else None
        if data is None:
            return super()._missing_bytes(file)
        return data.missing, data.size + data.missing

    def unread(self) -> int:
        return self._unread

    def _bytes_unread(self, file: IO[bytes]) -> int:
        container = self.container
        if container is None or container.sound is None:
            return 0
        behind = container.chunks[container.chunks.index(container.sound) + 1 :]
        last = container.sound
        is_full = len(container.chunks) == MOST  # others were not looked at
        further = (container.dialect.sound, *FILES)
        for chunk in behind:
            is_cut = chunk.missing and chunk.name not in TEXTS
            is_sound = not is_identifier(chunk.name) or chunk.name in further
            if is_cut or is_sound:
                return self.state.st_size - chunk.at + container.dialect.head
            last = chunk
        end = last.at + container.dialect.padded(last.size)
        return self.state.st_size - end if is_full else bytes_behind(file, end)

    def _bytes_lacking(self, head: bytes) -> int:
        """Return by how many bytes the file is shorter than it states, but for a last chunk that
        its end cuts: they may have been among the samples."""
        form = self.container.dialect if self.container else None
        if form is None or form.size_at is None or form.is_long:
            return 0
        stated = int.from_bytes(head[form.size_at :][: form.size_width], form.order)
        cut = sum(chunk.missing for chunk in self.container.chunks) if self.container else 0
        return 0 if is_open(stated) else stated + form.size_beside - self.state.st_size - cut

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        lacks = f"its header states {self._lacks} more bytes than the file has"
        return super().missing_at_end(file) or (lacks if self._lacks > SLOPPY else None)

    def skipped_damage(self, sample_rate: int) -> str | None:
        unread = self.unread()
        return f"{unread} bytes behind its samples are not read" if unread else None

    @property
    def _to_copy(self) -> Container | None:
        return None if self._is_behind_tag else self.container

    def names(self) -> list[str]:
        return chunk_names(self._to_copy) if self._to_copy else []

    def repeated(self) -> list[str]:
        found = self._to_copy
        if found is None:
            return []
        chunk = found.find(b"ID3 ") or found.find(b"id3 ")
        return repeated_frames(found.body(chunk)) if chunk else []

    def names_beside_tags(self, names: list[str]) -> list[str]:
        unread = [name for name in names if name not in READ_AS_TAGS]
        if "id3" in names and ("INFO" in names or "bext" in names):  # ffmpeg takes these instead
            unread.append("id3")
        return unread

    def copy_into(self, part: Inspection, same_coding: bool, samples: int) -> Copied:
        return self._copied(part, same_coding, samples)

    def copy_mapped_into(self, part: Inspection, media: Media, samples: int) -> None:
        self._copied(part, False, samples, leave=(b"chan", b"CHAN"))

    def _copied(
        self, part: Inspection, same_coding: bool, samples: int, leave: Iterable[bytes] = ()
    ) -> Copied:
        written = part.container if isinstance(part, Chunked) else None
        if self._to_copy is None or written is None:
            return Copied(lost=["all chunks"])
        return copy_chunks(self._to_copy, written, same_coding, samples, leave)
