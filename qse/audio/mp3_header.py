"""Read the first frame of an MP3 file, whose Xing or Info header states its length."""

from dataclasses import dataclass
from typing import IO

MP3_RATES = (  # kbit/s of layer III by the index in the header: MPEG 1, and MPEG 2 and 2.5
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)
ENCODER = 120  # offset of its name in the header, where that has all fields
CHECKSUM = 154  # offset of the checksum
FIRST_BYTES = 256  # of a frame, which hold that header
PLACES = (13, 21, 36)  # of that header in its frame, without a checksum of two bytes
COVERED = 190  # bytes
SAMPLE_RATES = (44100, 48000, 32000)  # Hz, of MPEG 1
HALVINGS = {3: 0, 2: 1, 0: 2}  # of them, by the version
ENCODERS = (b"LAME", b"Lavc", b"Lavf")  # that write a checksum; the others are ffmpeg's names


@dataclass(frozen=True)
class FirstFrame:
    """The first frame of an MP3 file.

    start: its offset. head: its four bytes. header: its Xing or Info header, empty without one.
    is_changed: whether that differs from the checksum that the encoder has put behind it.
    """

    start: int
    head: bytes
    header: bytes
    is_changed: bool = False

    @property
    def says_length(self) -> bool:
        """Return whether the number of frames is stated."""
        return bool(self.header and self.header[7] & 1)

    @property
    def frames(self) -> int:
        """Return the number of frames that is stated, without this one; 0 if none is."""
        return int.from_bytes(self.header[8:12], "big") if self.says_length else 0

    @property
    def samples(self) -> int:
        """Return the samples per channel that are stated, without those that the encoder has added
        at both ends; 0 if none are."""
        flags = self.header[7] if self.header else 0
        at = 8 + 4 * (flags & 0b1011).bit_count() + 100 * (flags >> 2 & 1)
        ends = int.from_bytes(self.header[at + 21 : at + 24], "big")  # 12 bits for each end
        return max(0, self.frames * self.length - (ends >> 12) - (ends & 0xFFF))

    @property
    def length(self) -> int:
        """Return the samples of a frame."""
        return 1152 if self.head[1] & 0x18 == 0x18 else 576

    @property
    def size(self) -> int:
        """Return the least size of the file in bytes that is announced, 0 if none is."""
        flags = self.header[7] if self.header else 0
        at = 8 + 4 * (flags & 1)
        return self.start + int.from_bytes(self.header[at : at + 4], "big") if flags & 2 else 0

    @property
    def constant_kbit(self) -> int:
        """Return the bit rate in kbit/s of every frame, 0 if it varies or is unknown."""
        if self.header[:4] == b"Xing" or self.head[:1] != b"\xff" or len(self.head) < 4:
            return 0
        index = self.head[2] >> 4
        return MP3_RATES[self.head[1] & 0x18 != 0x18][index] if index < 15 else 0


def first_frame(file: IO[bytes], start: int) -> FirstFrame:
    """Read the first frame of an open MP3 file, at the end of its tags. Raises OSError."""
    file.seek(start)
    frame = file.read(FIRST_BYTES)
    at = header_place(frame)
    if at < 0:
        return FirstFrame(start, frame[:4], b"", _is_named(frame))
    return FirstFrame(start, frame[:4], frame[at:], _is_changed(frame, at))


def stated_frames(frame: bytes, at: int) -> int:
    """Return the frames that the Xing or Info header of a frame, at `header_place`, states; 0
    without one."""
    return FirstFrame(0, frame[:4], frame[at:]).frames if 0 <= at <= PLACES[-1] + 2 else 0


def holds_beginning(frame: bytes, at: int) -> bool:
    """Return whether another file, whose header is at `header_place`, begins within a frame: its
    own end was cut off."""
    heads = [frame[at - place : at - place + 2] for place in PLACES if at > place]
    return any(head[0] == 0xFF and head[1] & 0xE6 == 0xE2 for head in heads)


def header_place(frame: bytes) -> int:
    """Return where a Xing or Info header begins in a frame, -1 without one."""
    at = max(frame.find(b"Xing"), frame.find(b"Info"))
    return at if at < len(frame) - 7 else -1


def sample_rate_of(header: bytes) -> int:
    """Return the sample rate that the header of a frame of any layer states, in Hz."""
    return SAMPLE_RATES[header[2] >> 2 & 3] >> HALVINGS[header[1] >> 3 & 3]


def frame_size(header: bytes, length: int, kbits: int) -> int:
    """Return the bytes of a frame of layer II or III with this header, of `length` samples."""
    return length // 8 * 1000 * kbits // sample_rate_of(header) + (header[2] >> 1 & 1)


def frame_form(header: bytes) -> tuple[int, int]:
    """Return bytes and samples of the layer III frame with this header; 0 and 0 if it is no such
    header."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2 or header[1] & 0x18 == 0x08:
        return 0, 0
    version = header[1] >> 3 & 3  # 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
    bit_rate = header[2] >> 4
    if not 0 < bit_rate < 15 or header[2] & 0x0C == 0x0C:
        return 0, 0
    length = 1152 if version == 3 else 576
    return frame_size(header, length, MP3_RATES[version != 3][bit_rate]), length


def _is_named(frame: bytes) -> bool:
    """Return whether the name of an encoder stands where one would behind a header, in a frame
    without sound: encoders also fill frames with their name."""
    for checksum in (0, 2):
        for at in PLACES:
            name = at + checksum + ENCODER
            is_empty = not any(frame[4 + checksum : at + checksum])
            if is_empty and frame[name : name + 4] in ENCODERS:
                return True
    return False


def _is_changed(frame: bytes, at: int) -> bool:
    """Return whether a frame differs from its checksum. at: offset of its Xing or Info header.

    LAME takes all bytes before the checksum, ffmpeg, which keeps the name LAME in copies, COVERED
    bytes with zeros in its place, and in that of other frames; its first versions wrote none.
    """
    place = at + CHECKSUM
    stated = int.from_bytes(frame[place : place + 2], "big")
    name = frame[at + ENCODER : at + ENCODER + 4]
    is_stated = name == b"LAME" or (name in ENCODERS and stated)
    if not is_stated or len(frame) < place + 2:
        return False
    own = frame[: frame_form(frame)[0]]
    other = own[:place] + bytes(2) + own[place + 2 :]
    return stated not in (_crc(frame[:place]), _crc(other[:COVERED].ljust(COVERED, b"\0")))


def _crc(data: bytes) -> int:
    """Return the CRC-16 with the polynomial 0x8005, the lowest bit first."""
    found = 0
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ (0xA001 if found & 1 else 0)
    return found
