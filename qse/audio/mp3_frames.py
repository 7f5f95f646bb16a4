"""Read the frames of MP3 files, and what lies between them.

Files joined to one have tags between their frames; other bytes there are damage.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from .ape import EDGE, MARK
from .damage_text import note
from .file_bytes import FileBytes
from .id3_frames import tag_size
from .mp3_header import (
    frame_form,
    header_place,
    holds_beginning,
    sample_rate_of,
    stated_frames,
)

# the first bytes of a frame of layer III: its sync word, version, and a bit rate
HEAD = re.compile(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb][\x10-\xef]", re.DOTALL)
MOST_ZEROS = 4096  # bytes that a file may begin or end with
FEW_ZEROS = 64  # bytes at its end: less than a tenth of a second of frames
MOST_STUFFING = 16  # zeros between two frames; more are a hole, or the rest of a frame
MOST_FALSE = 1 << 19  # places that look like a frame and are none
MOST_LYRICS = (1 << 16) + 32  # bytes
LONGEST_HEADER = 16  # bytes
LONGEST_CHAIN = 1 << 20  # bytes before a frame in which others are looked for
CHAIN = 4  # frames behind each other that are no coincidence
LYRICS = re.compile(rb"LYRICSBEGIN.{0,65536}?LYRICS(?:200|END)", re.DOTALL)
# tags at the end of a file: how they begin, and their bytes
TAGS = ((b"TAG+", 227), (b"TAG", 128), (b"3DI", 10))


@dataclass(frozen=True)
class Frames:
    """The frames of a file: their `samples` per channel; `holes`: for each place with bytes that
    are no frames, the samples before it; whether the last frame `is_cut`; `changes`: the samples
    before each frame with another sample rate, or other channels, than the one before; `size`:
    their bytes, 0 if they were not counted; `ends`: the samples before each end of a joined file
    that has fewer frames than its Xing or Info header states; `zeros`: bytes before the first
    frame, or behind the last one, which may have been frames."""

    samples: int
    holes: tuple[int, ...]
    is_cut: bool
    changes: tuple[int, ...]
    size: int = 0
    ends: tuple[int, ...] = ()
    zeros: int = 0

    def between(self) -> "Frames":
        """Return the same without holes at both ends, where programs put what is no sound."""
        return replace(self, holes=tuple(n for n in self.holes if 0 < n < self.samples))

    def places(self, sample_rate: int) -> list[str]:
        """Return in words what is damaged."""
        found = [f"bytes are no frames at {before / sample_rate:.2f} s" for before in self.holes]
        for before in self.changes:
            found.append(f"sample rate or channels change at {before / sample_rate:.2f} s")
        for before in self.ends:
            found.append(f"one of its joined files ends early at {before / sample_rate:.2f} s")
        return [*found, "its last frame is cut"] if self.is_cut else found


def has_frames(data: bytes) -> bool:
    """Return whether a few frames follow each other somewhere in `data`."""
    for found in HEAD.finditer(data):
        at = found.start()
        count = 0
        while count < CHAIN and (size := frame_form(data[at : at + 4])[0]):
            at += size
            count += 1
        if count == CHAIN:
            return True
    return False


def read_frames(path: Path, first: int = 0, stop: int | None = None) -> Frames:
    """Read the headers of all frames of an MP3 file (ISO/IEC 11172-3, 2.4.2.3), or of the bytes of
    another file from `first` to `stop`. Raises OSError."""
    samples = 0
    sizes = 0
    holes: list[int] = []
    changes: list[int] = []
    form = None
    stated: list[tuple[int, int]] = []
    with path.open("rb") as file:
        data = FileBytes(file, first, stop)
        end = 0
        before = 0
        for at, size, length in _frames(data):
            if at > end:
                zeros = _zeros_among_tags(data, end, at)
                before = before if end else zeros
                if _is_hole(data, end, at, zeros):
                    note(holes, samples)
            end = at + size
            frame = data[at:end]
            if len(frame) < 4:  # the file became shorter
                break
            now = _form(frame)
            if form not in (None, now):
                note(changes, samples)
            form = now
            place = header_place(frame)
            if count := stated_frames(frame, place):
                note(stated, (samples, count * length))
            samples += length
            if holds_beginning(frame, place):
                note(holes, samples)
            sizes += size
        zeros = data.behind_zeros(end, len(data)) - end
        if behind_tags(data, end, len(data)) < len(data) or zeros > MOST_ZEROS:
            note(holes, samples)
        is_cut = end > len(data)
        ends = _ends(stated, samples)
        return Frames(
            samples, tuple(holes), is_cut, tuple(changes), sizes, ends, max(before, zeros)
        )


def _ends(stated: list[tuple[int, int]], samples: int) -> tuple[int, ...]:
    """Return the samples before each end of a joined file with fewer frames than are stated.
    stated: for each frame that states a length, the samples before it, and those behind it."""
    if len(stated) < 2:  # of one file, the bytes are compared, too
        return ()
    ends = [begin for begin, _ in stated[1:]] + [samples]
    there = zip(stated, ends, strict=True)
    # some programs count the frame that states the length
    return tuple(end for (begin, count), end in there if end - begin < count)


def _frames(data: FileBytes) -> Iterator[tuple[int, int, int]]:
    """Yield offset, bytes and samples of each frame."""
    at = behind_tags(data, 0, len(data))
    end = -1
    false = 0
    while false < MOST_FALSE and (at := data.search(HEAD, at, 3)) >= 0:
        size, length = frame_form(data[at : at + 4])
        behind = data[at + size : at + size + 4]
        # behind a frame; elsewhere another one has to follow
        if size and (at == end or frame_form(behind)[0]):
            yield at, size, length
            at += size
            end = at
        else:  # a tag, or samples with the bits of a header
            at += 1
            false += 1


def behind_tags(data: FileBytes, at: int, stop: int) -> int:
    """Return where tags and zeros that begin at `at` end, `stop` at most."""
    while at < stop:
        before = at
        at = _behind_tag(data, data.behind_zeros(at, len(data)))
        if at == before:
            return at
    return stop


def _behind_tag(data: FileBytes, at: int) -> int:
    """Return where the tag that begins at `at` ends, if one does."""
    head = data[at : at + EDGE]
    at += tag_size(head) or next((size for name, size in TAGS if head.startswith(name)), 0)
    if head.startswith(MARK) and len(head) == EDGE:
        at += EDGE + (0 if head[23] & 0x20 == 0 else int.from_bytes(head[12:16], "little"))
    is_text = data[at : at + 6] == b"LYRICS"
    lyrics = LYRICS.match(data[at : at + MOST_LYRICS]) if is_text else None
    return at + (lyrics.end() if lyrics else 0)


def _is_hole(data: FileBytes, start: int, stop: int, zeros: int) -> bool:
    """Return whether what lies before the first frame (start: 0), or between two, is more than tags
    and a few zeros, of which there are so many."""
    between = FEW_ZEROS if zeros < stop - start else MOST_STUFFING
    most = between if start else MOST_ZEROS
    return zeros > most or behind_tags(data, start, stop) < stop or holds_frames(data, start, stop)


def _zeros_among_tags(data: FileBytes, at: int, stop: int) -> int:
    """Return how many zeros lie before, between and behind the tags from `at` to `stop`."""
    count = 0
    while at < stop:
        end = data.behind_zeros(at, stop)
        count += end - at
        at = _behind_tag(data, end)
        if at == end:
            break
    return count


def holds_frames(
    data: FileBytes,
    start: int,
    stop: int,
    head: re.Pattern[bytes] = HEAD,
    size_of: Callable[[bytes], int] = lambda header: frame_form(header)[0],
) -> bool:
    """Return whether two frames or more lead up to where tags from `start` on end: the size of one
    is damaged then.

    head: how frames begin. size_of: the bytes of one by its header, 0 for another.
    """
    tail = data[max(start, stop - LONGEST_CHAIN) : stop]
    for found in head.finditer(tail):
        at = found.start()
        count = 0
        while size := size_of(tail[at : at + LONGEST_HEADER]):
            at += size
            count += 1
        if at == len(tail) and count > 1:
            return True
    return False


def rate_of(header: bytes) -> int:
    """Return the sample rate of the frame with this header in Hz, 0 if it is no such header."""
    if not frame_form(header)[0]:
        return 0
    return sample_rate_of(header)


def _form(header: bytes) -> tuple[int, int, bool]:
    """Return version, sample rate and whether there is one channel, as the header codes them."""
    return header[1] & 0x18, header[2] & 0x0C, header[3] & 0xC0 == 0xC0
