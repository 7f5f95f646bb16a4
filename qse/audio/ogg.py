"""Ogg Vorbis and Ogg Opus files, and other codings in Ogg."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from .bit_rate import BitRate, vorbis_nominal
from .channel_order import USUAL_MASKS
from .chapters import timed
from .copied import Copied
from .damage_text import named
from .flac_blocks import blocks_of, copy_blocks
from .formats import Layout
from .inspection import Inspection
from .ogg_comments import Headers, read_headers, samples_before_begin, write_entries
from .ogg_page import HEADER
from .ogg_pages import Pages, read_pages
from .probe import Media
from .vorbis_comments import PICTURE, Comments

if TYPE_CHECKING:
    import soundfile

SOUND = (b"\x01vorbis", b"OpusHead")  # what libsndfile reads
# bytes of a file: how many channels Vorbis and Opus have, and which order these have in Opus
CHANNELS = (39, 37)
FAMILY = 46
POSITIONS = b"\1"  # that of Vorbis, by which each channel has a position
INDEX = b"fishead\0"  # a stream of the times of the others (Ogg Skeleton)
FIRST_PAGE = 128  # bytes, of Vorbis
BEGINS = 2  # flags of a page


class OtherOgg(Inspection):
    """A file with a coding that only ffmpeg reads, or a video."""

    family = "other Ogg"
    needs_ffmpeg = True
    closes_jumps = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "other Ogg" if head[:4] == b"OggS" else None

    @cached_property
    def pages(self) -> Pages:
        """Return what the pages say, with their checksums."""
        return read_pages(self.path)

    def skipped_damage(self, sample_rate: int) -> str | None:
        return named(self.pages.places)

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        unmarked = "its last page is not marked as such: what came behind it, if anything, is lost"
        return None if self.pages.has_ends else unmarked


class Ogg(OtherOgg):
    """A file whose first stream libsndfile reads."""

    family = "Ogg"
    formats = ("OGG",)
    needs_ffmpeg = False
    muxer = "ogg"
    copies_to = ("Ogg", "FLAC")
    _channels: int = 0

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "Ogg" if head[:4] == b"OggS" and head[28:36].startswith(SOUND) else None

    @classmethod
    def of(cls, path: Path, kind: str | None, file: IO[bytes], head: bytes) -> Self:
        found = super().of(path, kind, file, head)
        is_opus = head[28:].startswith(SOUND[1])
        found.is_in_vorbis_order = not is_opus or head[FAMILY : FAMILY + 1] == POSITIONS
        found._channels = head[CHANNELS[is_opus]] if len(head) > FAMILY else 0
        return found

    @cached_property
    def channel_mask(self) -> int | None:
        has_positions = self.is_in_vorbis_order and self._channels > 2
        return USUAL_MASKS.get(self._channels) if has_positions else None

    @cached_property
    def headers(self) -> Headers:
        """Return the header packets. Raises ValueError if they are damaged."""
        return read_headers(self.path)

    @cached_property
    def _begins_before(self) -> bool:
        try:
            return samples_before_begin(self.path, self.headers) > 0
        except ValueError:
            return False

    @cached_property
    def tracks(self) -> int:
        """Return how many streams begin at the beginning, before the first of them goes on (RFC
        3533, section 4), with sound or pictures; libsndfile reads the first."""
        count = 0
        with self.path.open("rb") as file:
            while (page := file.read(HEADER))[:4] == b"OggS" and len(page) == HEADER:
                if not page[5] & BEGINS:
                    break
                body = file.read(sum(file.read(page[26])))
                count += not body.startswith(INDEX)
        return count

    def is_cut(self, file: soundfile.SoundFile) -> bool:
        """Return whether the last page is incomplete (RFC 3533, section 6).

        Not all recorders mark it as the last.
        """
        with self.path.open("rb") as stream:
            stream.seek(max(0, self.state.st_size - (1 << 16)))
            tail = stream.read()
        page = tail[max(0, tail.rfind(b"OggS")) :]
        header = HEADER + page[26] if len(page) > 26 else len(page) + 1
        return len(page) < header + sum(page[HEADER:header])

    def announced(self, file: soundfile.SoundFile) -> int | None:
        """Return the samples up to the position on the last page."""
        seconds = None if self.pages.has_pauses else self.pages.seconds
        return None if seconds is None else max(file.frames, round(seconds * file.samplerate))

    def has_more(self, file: soundfile.SoundFile) -> bool:
        """Return whether there are several streams, files joined to one, pauses, or samples before
        the begin, in place of which libsndfile leaves out as many at the end."""
        return self.is_read_in_part(file) or self.pages.is_joined

    def is_read_in_part(self, file: soundfile.SoundFile) -> bool:
        return self.tracks > 1 or self.pages.has_pauses or self._begins_before

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        return self.skipped_damage(file.samplerate)

    def bit_rate(self, subtype: str, seconds: float | None) -> BitRate | None:
        if subtype == "VORBIS":
            with self.path.open("rb") as file:
                nominal = vorbis_nominal(file.read(FIRST_PAGE))
            if nominal:
                return BitRate(nominal)
        return super().bit_rate(subtype, seconds)

    def names(self) -> list[str]:
        found: dict[str, None] = {}
        try:
            names = self.headers.comments.names()
        except ValueError:
            return []
        for name in names:
            marked = "chapters" if name[:7] == "CHAPTER" else name
            found["cover" if name == PICTURE else marked] = None
        return list(found)

    def names_beside_tags(self, names: list[str]) -> list[str]:
        return []

    def copy_into(self, part: Inspection, same_coding: bool, samples: int) -> Copied:
        kept, dropped = self.headers.comments.still_true()
        if part.family == self.family:
            write_entries(part.path, kept.entries)
            return Copied(dropped=dropped)
        blocks, lost = blocks_of(kept)
        return Copied(lost, dropped + copy_blocks(blocks, part.path))

    def repeated(self) -> list[str]:
        try:
            return self.headers.comments.repeated()
        except ValueError:
            return []

    def copy_mapped_into(self, part: Inspection, media: Media, samples: int) -> None:
        entries = timed(self.headers.comments.entries, media.chapters)
        write_entries(self.path, entries)  # whose chapters are compared with those of the source
        kept, _ = Comments(b"", entries).still_true()
        write_entries(part.path, kept.entries)

    @classmethod
    def mappable(cls, layout: Layout) -> Layout:
        """Return the layout of Opus: into that alone ffmpeg writes chapters."""
        return Layout(48000, 1, "OGG", "OPUS", layout.endian, layout.tags)

    @classmethod
    def mapping_options(cls, place: str) -> list[str]:
        return ["-map_metadata:s:a:0", place]
