"""FLAC files."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from .channel_order import USUAL_MASKS
from .copied import Copied
from .damage_text import named
from .flac_blocks import (
    COMMENT,
    Block,
    block_names,
    comments_of,
    comments_with_pictures,
    copy_blocks,
    edit_blocks,
    read_blocks,
    read_stream_info,
)
from .flac_frames import frame_places, samples_behind
from .id3 import copy_tags
from .inspection import Inspection
from .ogg_comments import write_entries
from .tagged import Tagged
from .vorbis_comments import MASK, Comments

if TYPE_CHECKING:
    import soundfile

UNREAD = ("cue sheet", "application data")  # what ffmpeg does not read as tags


class Flac(Tagged):
    """A file of this kind, also behind an ID3 tag."""

    family = "FLAC"
    formats = ("FLAC",)
    muxer = "flac"
    copies_to = ("FLAC", "Ogg")
    states_positions = True
    has_times = False
    ends_at_damage = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        return "FLAC" if head[:4] == b"fLaC" else None

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        try:
            info, start = read_stream_info(self.path)
        except ValueError:
            return "its metadata do not lead to its samples"
        end = self.state.st_size
        with suppress(ValueError):  # tags that are too long to be copied
            end -= len(self.tags.back)
        least, most = (int.from_bytes(info[at : at + 2], "big") for at in (0, 2))
        block = least if least == most else 0
        states_length = file.frames < 1 << 36
        if states_length and samples_behind(self.path, start, end, block, file.frames):
            return "it holds more samples than its header counts, and those are not read"
        how = (least == most, file.samplerate, not states_length)
        return named(frame_places(self.path, start, end, *how))

    @cached_property
    def blocks(self) -> list[Block]:
        """Return the metadata blocks. Raises ValueError if they are damaged."""
        return read_blocks(self.path)[2]

    @cached_property
    def channel_mask(self) -> int | None:
        try:
            text = comments_of(self.blocks).get(MASK)
            return int(text, 16) if text else None
        except ValueError:
            return None

    def names(self) -> list[str]:
        try:
            return [*block_names(self.blocks), *super().names()]
        except ValueError:
            return []

    def names_beside_tags(self, names: list[str]) -> list[str]:
        return [*(name for name in names if name in UNREAD), *self.unread_at_end()]

    def copy_into(self, part: Inspection, same_coding: bool, samples: int) -> Copied:
        if part.family == self.family:
            dropped = copy_blocks(self.blocks, part.path)
            return Copied(dropped=dropped + copy_tags(self.tags, part.path))
        comments, lost = comments_with_pictures(self.blocks)
        kept, dropped = comments.still_true()
        write_entries(part.path, kept.entries)
        return Copied([*lost, *super().names()], dropped)

    def repeated(self) -> list[str]:
        try:
            return [*comments_of(self.blocks).repeated(), *super().repeated()]
        except ValueError:
            return []

    def state_mask(self, mask: int, channels: int) -> bool:
        if USUAL_MASKS.get(channels) == mask:
            return True

        def edited(blocks: list[Block]) -> list[Block]:
            old = comments_of(blocks)
            entry = f"{MASK}=0x{mask:04X}".encode()
            block = Block(COMMENT, Comments(old.vendor, [*old.entries, entry]).packed())
            return [blocks[0], block, *(other for other in blocks[1:] if other.kind != COMMENT)]

        try:
            edit_blocks(self.path, edited)
        except ValueError:
            return False
        return True
