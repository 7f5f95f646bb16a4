"""Say what a file is and what it holds: found once, when it is opened, and handed along to what
reads it, copies its metadata, and names what is lost.

Each family of formats has a module with a class that derives from Inspection: wav, aiff, caf, flac,
ogg, mp3, mp4, matroska, voc, adts, avi, flv, tta, gsm, plain (AU, NIST), foreign (the others).
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar, Self

from .bit_rate import LOSSY, BitRate
from .copied import Copied
from .ffmpeg_input import is_installed
from .ffmpeg_process import Done
from .formats import BYTES, Layout, frame_bytes
from .held_file import HeldFile
from .probe import Media, Track, ask, media_of
from .stated_size import is_open, is_surely_open
from .suffixes import MediaForm

if TYPE_CHECKING:
    import soundfile

HEAD = 512  # bytes by which a file is recognised
FEW = 4096  # bytes behind the samples with which a file is read
SLOPPY = 64  # tolerated error of a header in bytes: some count the header itself
# in libsndfile's description of a file
SIZES = r"(?:data|SSND|Data Size|riff|Riff size)\s*:\s*(\d+) \(should be (\d+)\)"
SAMPLES = r"(?:data|SSND|Data Size)\s*:\s*(\d+) \(should be (\d+)\)"


class Inspection(HeldFile):
    """Tell what a file is and holds; this class serves files of which libsndfile says all.

    path, kind: of the file; the kind by its content, None if unknown. state: size, times and
    permissions. What has to be read from the file is read when it is first asked for, once.
    Methods that take a `file` compare with what libsndfile has found, None if ffmpeg reads it. They
    raise OSError.
    """

    family: ClassVar[str | None] = None  # the same for all kinds whose metadata have the same form
    formats: ClassVar[tuple[str, ...]] = ()  # of libsndfile, for files of this family
    needs_ffmpeg: bool = False  # whether only ffmpeg reads such files
    has_other_positions: bool = False  # whether it states some that are no `channel_mask`
    states_all: bool = False  # whether no more sound is there than `stated_seconds`
    muxer: ClassVar[str | None] = None  # of ffmpeg, where it maps metadata into this family
    copies_to: ClassVar[tuple[str, ...]] = ()  # families to which metadata are copied byte by byte
    has_times: bool = True  # whether ffmpeg finds time stamps that place the samples
    closes_jumps: bool = False  # whether it goes on without a gap where they jump far or back
    is_in_vorbis_order: bool = False  # whether its channels are, as libsndfile reads them
    states_positions: ClassVar[bool] = False  # whether `channel_mask` knows what a file states
    holds_cover: ClassVar[bool] = False
    ends_at_damage: ClassVar[bool] = False  # where ffmpeg reads on
    harmless: ClassVar[tuple[bytes, ...]] = ()  # messages of ffmpeg that tell of no damage

    def __init__(self, path: Path, kind: str | None, state: os.stat_result):
        super().__init__(path, state)
        self.kind = kind

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return what the file at `path` is, which must be of this family."""
        with path.open("rb") as file:
            head = file.read(HEAD)
            return cls.of(path, cls.recognise(head), file, head)

    @classmethod
    def of(cls, path: Path, kind: str | None, file: IO[bytes], head: bytes) -> Self:
        """Return what an open file is. head: its first bytes, empty if others come before those by
        which it was recognised."""
        return cls(path, kind, os.fstat(file.fileno()))

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        """Return the kind of a file of this family that begins with `head`, HEAD bytes at most;
        None for others."""
        return None

    @cached_property
    def media(self) -> Media | None:
        """Return what ffprobe finds; None if it finds nothing, or is not installed."""
        return media_of(self._probed) if self._probed else None

    @property
    def first_rate(self) -> int:
        """Return the sample rate of the first frame in Hz; 0 in formats where it cannot change."""
        return 0

    @property
    def refusal(self) -> str:
        """Return the reason that ffprobe gave for reading nothing."""
        return self._probed.reason if self._probed else ""

    @cached_property
    def _probed(self) -> Done | None:
        return ask(self.path) if is_installed() else None

    @cached_property
    def channel_mask(self) -> int | None:
        """Return the channel mask that the file states, 0 for channels without positions, None if
        it states none."""
        return None

    @property
    def ends_early(self) -> bool:
        """Return whether the samples reach behind the end of the file, by its own header."""
        return False

    def is_cut(self, file: soundfile.SoundFile) -> bool:
        """Return whether the end is missing."""
        if "Seems to be a truncated file" in file.extra_info:  # a VOC file
            return True
        pairs = (map(int, found) for found in re.findall(SIZES, file.extra_info))
        return any(there + SLOPPY < stated and not is_open(stated) for stated, there in pairs)

    def is_unfinished(self, file: soundfile.SoundFile) -> bool:
        """Return whether the header announces less sound than is there, as a crashed recorder
        leaves it, so that `--salvage` reads on."""
        return False

    def says_length(self) -> bool:
        """Return whether the length is stored in the file, and not estimated by libsndfile."""
        return True

    def samples(self, file: soundfile.SoundFile) -> int:
        """Return the exact samples per channel; libsndfile counts too many in some formats."""
        return file.frames

    def announced(self, file: soundfile.SoundFile) -> int | None:
        """Return the samples per channel that the file announces, None if it does not."""
        ratio = 1.0
        for announced, there in re.findall(SIZES, file.extra_info):
            ratio = max(ratio, int(announced) / max(1, int(there)))
        unread = self.unread()
        if unread and file.subtype in BYTES:
            return self.samples(file) + unread // frame_bytes(file.channels, file.subtype)
        return round(file.frames * ratio)

    def has_more(self, file: soundfile.SoundFile) -> bool:
        """Return whether libsndfile stops before the end of the file."""
        return False

    def is_read_in_part(self, file: soundfile.SoundFile) -> bool:
        """Return whether ffmpeg reads all of a file that has more than libsndfile reads."""
        return False

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        """Return damage that libsndfile does not report, None if there is none."""
        unread = self.unread()
        return f"{unread} bytes behind its samples are not read" if unread > FEW else None

    def unread(self) -> int:
        """Return how many bytes behind those that libsndfile reads may be further sound."""
        return 0

    def lead(self, sample_rate: int) -> float:
        """Return the seconds by which the first samples of ffmpeg come later than by any gap."""
        return 0.0

    def stated_seconds(self, track: Track) -> float:
        """Return the least length of a sound track by the header, 0 where there is none."""
        return 0.0

    def skipped_damage(self, sample_rate: int) -> str | None:
        """Return damage that ffmpeg leaves out without a word, None if there is none."""
        return None

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        """Return in words what a file lacks that is read all the same, None if it is whole."""
        if file is None:
            return self.media.late if self.media else None
        if unread := self.unread():
            return f"{unread} bytes behind its samples are not read"
        missing, stated = self._missing_bytes(file)
        if missing > SLOPPY and is_open(stated) and not is_surely_open(stated):
            return f"its header states {stated} bytes of samples, {stated - missing} are there"
        if not 0 < missing <= SLOPPY:  # more is a file that is cut
            return None
        if file.subtype not in BYTES:
            return f"its header states {missing} more bytes of samples than there are"
        count = ceil(missing / frame_bytes(file.channels, file.subtype))
        return f"its header states {count} more samples than there are"

    def _missing_bytes(self, file: soundfile.SoundFile) -> tuple[int, int]:
        """Return by how many bytes the samples are fewer than the header states, and these."""
        found = re.search(SAMPLES, file.extra_info)
        return (int(found[1]) - int(found[2]), int(found[1])) if found else (0, 0)

    def bit_rate(self, subtype: str, seconds: float | None) -> BitRate | None:
        """Return the bit rate of a lossy file with this subtype that lasts `seconds`; None for
        other files, or if it cannot be found."""
        is_known = subtype in LOSSY and seconds
        return BitRate(self.state.st_size / 125 / seconds) if is_known and seconds else None

    def state_mask(self, mask: int, channels: int) -> bool:
        """Write the channel mask into this file; return whether it can state it."""
        return False

    def names(self) -> list[str]:
        """Return names for the metadata of the file, by its own blocks, chunks or frames."""
        return []

    def repeated(self) -> list[str]:
        """Return the names of tags with several values, of which ffmpeg joins the texts, or reads
        the first."""
        return []

    def names_beside_tags(self, names: list[str]) -> list[str]:
        """Return those among the names of its metadata that ffmpeg does not read as tags, chapters
        or cover."""
        return names

    def copy_into(self, part: Inspection, same_coding: bool, samples: int) -> Copied:
        """Give `part`, a file of a family in `copies_to` without metadata, those of this file, byte
        by byte. Without such families, nothing is copied.

        same_coding: whether the samples are coded alike. samples: per channel of `part`. Raises
        ValueError for damaged metadata, and TooLong for a WAV or AIFF file of more than 4 GiB.
        """
        return Copied(lost=self.names())

    def copy_mapped_into(self, part: Inspection, media: Media, samples: int) -> None:
        """Give `part` the metadata of this file, which ffmpeg has mapped from those of `media`."""
        self.copy_into(part, False, samples)

    def complete(self, part: Path, form: MediaForm) -> list[str]:
        """Add to `part`, which ffmpeg has made from this file, what ffmpeg does not copy; return
        the names of what was left out because of loudness."""
        return []

    def readable_by_ffmpeg(self, layout: Layout, folder: Path) -> Inspection:
        """Return a file with these metadata, in which ffmpeg looks for tags: this one, or a short
        one in `folder`. layout: of this file."""
        return self

    @classmethod
    def mappable(cls, layout: Layout) -> Layout:
        """Return a layout with the same form of metadata as `layout` that ffmpeg can copy."""
        return layout

    @classmethod
    def mapping_options(cls, place: str) -> list[str]:
        """Return ffmpeg's options that map tags into this family, from `place` in its 2nd input."""
        return ["-map_metadata:s:a:0", "-1"]
