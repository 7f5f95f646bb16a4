"""WAV files, with their long forms RF64 and W64, and RIFX."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, Self

from .chunked import Chunked
from .chunks import LONGEST, W64_RIFF, Dialect, write_size
from .damage_text import named
from .file_edit import replace_bytes
from .formats import BYTES, Layout, frame_bytes
from .inspection import Inspection
from .mp3_frames import FEW_ZEROS, read_frames
from .probe import Track
from .short_file import SHORT, write_short
from .stated_size import EDGES, LEAST_OPEN, NEAR
from .wave_format import EXTENSIBLE, EXTENSION, is_misread, untrue_block

if TYPE_CHECKING:
    import soundfile

AUDIO = (
    *(b"fmt ", b"data", b"fact", b"PEAK", b"ds64", b"wavl", b"slnt"),
    *(b"JUNK", b"junk", b"FLLR", b"PAD "),
)
RIFF = Dialect("WAV", AUDIO, "little")
RIFX = Dialect("RIFX", AUDIO, "big")
# the first number of the chunk ds64 is the size of the file
RF64 = Dialect("WAV", AUDIO, "little", size_at=20, size_width=8, is_long=True)
W64 = Dialect(
    "WAV",
    AUDIO,
    "little",
    header=40,
    size_at=16,
    size_width=8,
    size_beside=0,
    id_bytes=16,
    size_bytes=8,
    padding=8,
    counts_header=True,
    ends_with_samples=True,
)
DIALECTS = {b"RIFF": RIFF, b"RF64": RF64, b"BW64": RF64, b"RIFX": RIFX}

TAGS = 1 << 16  # most bytes of tags after the announced samples
BLOCKWISE = ("IMA_ADPCM", "MS_ADPCM", "GSM610", "NMS_ADPCM_16", "NMS_ADPCM_24", "NMS_ADPCM_32")
MPEG = (0x50, 0x55)  # codings
WMA = (0x160, 0x161, 0x162, 0x163)
WMA_FRAME = 0.07  # seconds by which a header states more
UNFINISHED = 512  # more bytes than this after an empty data chunk are samples, not tags

PLAIN_TAGS = (1, 3)  # PCM, float


class Wav(Chunked):
    """A file of one of these kinds."""

    family = "WAV"
    formats = ("WAV", "WAVEX", "RF64", "W64")
    copies_to = ("WAV",)
    muxer = "wav"

    @classmethod
    def of(cls, path: Path, kind: str | None, file: IO[bytes], head: bytes) -> Self:
        found = super().of(path, kind, file, head)
        found.states_all = found.says_length()
        return found

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        if head[:16] == W64_RIFF:
            return "W64"
        if head[:4] not in DIALECTS or head[8:12] != b"WAVE":
            return None
        return "RF64" if DIALECTS[head[:4]].is_long else "WAV"

    @classmethod
    def dialect_of(cls, head: bytes) -> Dialect:
        return W64 if head[:16] == W64_RIFF else DIALECTS[head[:4]]

    @property
    def _order(self) -> Literal["little", "big"]:
        return self.container.dialect.order if self.container else "little"

    @property
    def _format(self) -> bytes:
        """Return the body of the format chunk, empty without one."""
        chunk = self.container.find(b"fmt ") if self.container else None
        return self.container.body(chunk) if self.container and chunk else b""

    @cached_property
    def channel_mask(self) -> int | None:
        if self.container is None:
            return None
        order = self.container.dialect.order
        body = self._format
        extensible = int.from_bytes(body[:2], order) == EXTENSIBLE and len(body) >= 40
        return int.from_bytes(body[20:24], order) if extensible else None

    def read_with_header(self) -> bytes:
        """Return the first bytes by which libsndfile reads the file right, none if its own do."""
        body = self._format
        if self.kind != "W64" or self.container is None or not is_misread(body):
            return b""
        chunk = self.container.find(b"fmt ")
        assert chunk
        with self.path.open("rb") as file:
            return file.read(chunk.at) + body[24:26] + body[2:]

    def is_unfinished(self, file: soundfile.SoundFile) -> bool:
        if file.format not in ("WAV", "WAVEX", "RF64"):
            return False
        sound = self.container.sound if self.container and not file.frames else None
        is_empty = bool(sound and self.state.st_size - sound.at > UNFINISHED)
        return is_empty or self.has_more(file)

    def has_more(self, file: soundfile.SoundFile) -> bool:
        """Return whether the file is longer than its header says."""
        if file.format not in ("WAV", "WAVEX"):
            return False
        held = file.frames * frame_bytes(file.channels, file.subtype)
        behind = self.state.st_size - held
        riff = re.search(r"^RIF[FX] : (\d+)", file.extra_info, re.MULTILINE)
        unfinished = riff is not None and self.state.st_size - int(riff[1]) > TAGS
        announced = any(edge - NEAR <= held <= edge for edge in EDGES)
        return behind >= 1 << 32 or ((announced or unfinished) and behind > TAGS)

    def says_length(self) -> bool:
        """Return whether the number of samples is known, which it is not of MP3 in WAV: the fact
        chunk counts those that the encoder has added."""
        return int.from_bytes(self._format[:2], self._order) not in MPEG

    def samples(self, file: soundfile.SoundFile) -> int:
        """Return the samples without those that fill the last block of ADPCM and GSM, and without
        what follows the samples in W64, which libsndfile counts too."""
        is_blockwise = file.subtype in BLOCKWISE
        if self.container is None or not (is_blockwise or file.format == "W64"):
            return file.frames

        data = self.container.sound
        if data and not is_blockwise and file.subtype in BYTES:
            return min(file.frames, data.size // frame_bytes(file.channels, file.subtype))
        less = file.frames - self._fact
        return self._fact if self._fact and 0 < less <= self._filling(file) else file.frames

    @property
    def _fact(self) -> int:
        """Return the samples per channel that a chunk of their own states, 0 without one."""
        chunk = self.container.find(b"fact") if self.container else None
        if self.container is None or chunk is None:
            return 0
        width = 8 if self.kind == "W64" else 4
        stated = int.from_bytes(self.container.body(chunk)[:width], self.container.dialect.order)
        return 0 if stated == LONGEST or stated >= LEAST_OPEN else stated

    def _filling(self, file: soundfile.SoundFile) -> int:
        """Return how many samples may fill the last block of ADPCM, or the two of GSM that
        libsndfile writes; 0 for other codings."""
        if file.subtype not in BLOCKWISE:
            return 0
        return int.from_bytes(self._format[18:20], self._order) * (1 + (file.subtype == "GSM610"))

    def stated_seconds(self, track: Track) -> float:
        if not self.says_length() or not track.sample_rate:
            return 0.0
        is_wma = int.from_bytes(self._format[:2], self._order) in WMA
        return max(0.0, self._fact / track.sample_rate - is_wma * WMA_FRAME)

    def missing_at_end(self, file: soundfile.SoundFile | None) -> str | None:
        filling = self._filling(file) if file else 0
        if file and filling and self._fact and not self._is_near(file, filling):
            return f"its header states {self._fact} samples, and {file.frames} are there"
        return super().missing_at_end(file)

    def _is_near(self, file: soundfile.SoundFile, filling: int) -> bool:
        """Return whether the stated samples are those that are there, but for some that fill the
        end; libsndfile divides those of ADPCM by the channels."""
        stated = (self._fact, self._fact * file.channels)
        return min(abs(file.frames - count) for count in stated) <= filling * file.channels

    def hidden_damage(self, file: soundfile.SoundFile) -> str | None:
        """Return how the format chunk contradicts itself, where frames of MP3 are damaged, or how
        much is not read."""
        if file.subtype == "MPEG_LAYER_III" and self.container and (sound := self.container.sound):
            frames = read_frames(self.path, sound.at, sound.at + sound.size)
            is_blank = frames.zeros > FEW_ZEROS
            zeros = [f"{frames.zeros} zeros follow its last frame"] if is_blank else []
            return named([*frames.places(file.samplerate), *zeros]) or super().hidden_damage(file)
        if damage := untrue_block(self._format, self._order):
            return damage
        if self.container is None or not self._format or file.subtype not in BYTES:
            return super().hidden_damage(file)
        block = int.from_bytes(self._format[12:14], self.container.dialect.order)
        wanted = frame_bytes(file.channels, file.subtype)
        if block == wanted:
            return super().hidden_damage(file)
        return f"its header states {block} and {wanted} bytes for a sample of all channels"

    def skipped_damage(self, sample_rate: int) -> str | None:
        return super().skipped_damage(sample_rate) or untrue_block(self._format, self._order)

    def state_mask(self, mask: int, channels: int) -> bool:
        body = self._with_mask(mask)
        if self.container is None or not body:
            return False
        dialect = self.container.dialect
        chunk = self.container.find(b"fmt ")
        assert chunk
        end = chunk.at + dialect.padded(chunk.size)
        with self.path.open("r+b") as file:
            replace_bytes(file, chunk.at - dialect.head, end, dialect.write(b"fmt ", body))
            write_size(file, self.container)
        return True

    def _with_mask(self, mask: int) -> bytes:
        """Return the format chunk with this mask, nothing if it cannot state one."""
        order = self._order
        body = self._format
        tag = int.from_bytes(body[:2], order)
        stated = mask.to_bytes(4, order)
        if tag == EXTENSIBLE and len(body) >= 40:
            return body[:20] + stated + body[24:]
        if tag not in PLAIN_TAGS or order != "little":
            return b""
        begin = EXTENSIBLE.to_bytes(2, "little") + body[2:16] + b"\x16\x00" + body[14:16]
        extended = begin + stated + body[:2] + EXTENSION
        return b"" if self.kind == "W64" and is_misread(extended) else extended

    def readable_by_ffmpeg(self, layout: Layout, folder: Path) -> Inspection:
        """Return a short WAV file for W64, in which ffmpeg does not look for tags."""
        if self.kind != "W64":
            return self
        origin = folder / "origin.wav"
        write_short(origin, replace(layout, format="WAV"))
        self.copy_into(Wav.at(origin), same_coding=False, samples=SHORT)
        return Wav.at(origin)

    @classmethod
    def mappable(cls, layout: Layout) -> Layout:
        return replace(layout, format="WAV", subtype="PCM_16", endian="FILE")
