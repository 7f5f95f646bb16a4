"""MP4 and QuickTime files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Self

from .bytes_behind import SLACK
from .formats import suffix_of
from .inspection import Inspection
from .metadata_names import texts_of
from .mp4_chunks import chunk_fault, ends_early
from .mp4_fragments import Fragments
from .mp4_items import copy_items, is_joined
from .mp4_names import track_names, with_names
from .mp4_tags import Item, items_in, repeated_values, unread
from .mp4_times import PADDING, Tables, tables_of
from .mp4_tracks import track_fault
from .probe import Media, Track
from .suffixes import M4A, MediaForm

if TYPE_CHECKING:
    import soundfile

BRANDS = {"m4a": "M4A ", "m4b": "M4B "}  # an audio book opens where it was closed
# names of tags that phones write, which only the keys of QuickTime hold
OF_PHONES = ("com.apple.quicktime.", "com.android.")
VIDEOS = ("mp4", "m4v", "mov")
# behind the size of the first atom
ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"pnot", b"free", b"skip", b"uuid", b"styp")


class Mp4(Inspection):
    """A file of this kind, with or without pictures."""

    family = "MP4"
    needs_ffmpeg = True
    # ffmpeg 9 names a track of chapters that it does not write; the file states them besides
    harmless = (b"Referenced QT chapter track not found",)
    _fault: str | None = None
    _zeros = 0  # behind the last fragment
    _items: Sequence[Item] = ()
    _names: Sequence[tuple[bytes, str]] = ()  # kinds and names of tracks
    _tables: Mapping[int, Tables] = MappingProxyType({})
    _cut: frozenset[int] = frozenset()  # numbers of tracks that reach behind the end

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "MP4" if head[4:8] in ATOMS else None

    @classmethod
    def of(cls, path: Path, kind: str | None, file: IO[bytes], head: bytes) -> Self:
        found = super().of(path, kind, file, head)
        found._items = items_in(file)
        found._names = track_names(file)
        found._tables = tables_of(file)
        # of HE-AAC, ffmpeg counts the samples that it leaves out at half their rate
        found.has_times = not any(tables.tagged for tables in found._tables.values())
        found._cut = frozenset(index for index in found._tables if ends_early(file, index))
        if is_joined(file):
            found._fault = "another file begins behind the first"
        else:
            fragments = Fragments(file)
            found._fault = track_fault(file) or chunk_fault(file) or fragments.damage()
            found._zeros = fragments.zeros
        return found

    @cached_property
    def media(self) -> Media | None:
        found = super().media
        return with_names(found, self._names) if found else None

    def skipped_damage(self, sample_rate: int) -> str | None:
        if any(tables.has_unknown_edits for tables in self._tables.values()):
            known = "silence behind sound, or another speed: ffmpeg knows neither"
            return f"its edit list states {known}"
        if any(tables.is_exceeded(sample_rate) for tables in self._tables.values()):
            return self._fault or "its edit list names more sound than there is"
        return self._fault

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        if any(tables.is_edited_oddly for tables in self._tables.values()):
            return "its edit list is damaged"
        if any(tables.is_displaced() for tables in self._tables.values()):
            return "its edit list states other times than the header of the track"
        if any(tables.is_tagged_otherwise() for tables in self._tables.values()):
            return "its tag iTunSMPB states other samples than its tables"
        if self._zeros > SLACK:
            return f"{self._zeros} zeros follow its last fragment, perhaps in place of others"
        if self._cut:
            return "its tables name sound behind its end: as much is missing, there or before"
        is_extended = any(tables.is_extended for tables in self._tables.values())
        return super().missing_at_end(file) if is_extended else None

    def stated_seconds(self, track: Track) -> float:
        if not track.sample_rate:
            return 0.0
        if tables := self._tables.get(track.index):
            # ffmpeg reads no more of a file that ends between them
            if len(tables.heard) > 1 and track.index in self._cut:
                return tables.kept
            return tables.seconds(track.sample_rate)
        if self.media is None or self.media.pictures or len(self.media.tracks) > 1:
            return 0.0
        return self.media.seconds - PADDING / track.sample_rate

    def names_beside_tags(self, names: list[str]) -> list[str]:
        return unread(self._items, texts_of(self.media))

    def repeated(self) -> list[str]:
        return repeated_values(self._items)

    def complete(self, part: Path, form: MediaForm) -> list[str]:
        return copy_items(self.path, part) if form == M4A else []


def form_options(source: Inspection, target: Path) -> list[str]:
    """Return the options with which ffmpeg keeps the brand and the keys of `source` in `target`,
    a file of any format that ffmpeg writes."""
    suffix = suffix_of(target)
    tags = source.media.tags if source.media else {}
    brand = BRANDS.get(suffix)
    if brand and suffix_of(source.path) == suffix and tags.get("major_brand") in BRANDS.values():
        brand = tags["major_brand"]
    if brand:
        return ["-brand", brand]
    of_phone = any(name.startswith(OF_PHONES) for name in tags)
    return ["-movflags", "use_metadata_tags"] if of_phone and suffix in VIDEOS else []
