"""Compare the packets of a CAF file with what its headers state of them: decoders stop, or go on
within a packet, where a size is damaged."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from .formats import MOST_METADATA

DESCRIPTION = struct.Struct(">d4sIIIII")  # rate, coding, flags, bytes and samples of a packet, ...
TABLE = struct.Struct(">qqii")  # packets, samples, samples before and behind these
MOST_BYTES = 5  # of a size in the table
# coding -> bytes of a packet with one channel
PACKETS = {b"alaw": (1,), b"ulaw": (1,), b"ima4": (34,)}
# samples of a packet, version, bits, Rice parameters (3), channels, sample rate
COOKIE = struct.Struct(">I6B10xI")
OLD_COOKIE = b"\0\0\0\x0cfrmaalac\0\0\0\x24alac\0\0\0\0"  # in front of the same
ALAC_DEPTHS = (16, 20, 24, 32)
ALAC_BITS = dict(enumerate(ALAC_DEPTHS, 1))  # by the flags of a format, which may be 0
RICE = (40, 10, 14)  # what all encoders use
LINEAR = b"lpcm"
MP3 = b".mp3"
LONGEST_PACKET = 4096  # samples
ALIGNED = 4  # bytes in which 20 or 24 bits may stand


@dataclass(frozen=True)
class Packets:
    """Hold what the packet table of a file states: the number of packets, how many samples per
    channel are valid, how many an encoder put `before` these, how many sizes there are, and their
    sum in bytes."""

    count: int
    valid: int
    before: int
    sizes: int
    total: int

    @classmethod
    def of(cls, body: bytes) -> Packets | None:
        """Return what the body of a chunk `pakt` states, None if it is too short or too long."""
        if not TABLE.size <= len(body) < MOST_METADATA:
            return None
        count, valid, before, _ = TABLE.unpack(body[: TABLE.size])
        if count < 0 or valid < 0:
            return cls(count, valid, before, 0, 0)
        read = np.frombuffer(body, np.uint8, offset=TABLE.size)
        ends = np.flatnonzero(read < 0x80)[:count]
        starts = np.concatenate(([0], ends[:-1] + 1))[: len(ends)]
        total = 0
        for back in range(MOST_BYTES):  # the last byte of a size is its lowest
            held = ends[ends - starts >= back] - back
            total += int(np.sum(read[held].astype(np.int64) & 0x7F)) << 7 * back
        return cls(count, valid, before, len(ends), total)


def least_samples(description: bytes, valid: int) -> int:
    """Return the samples that there are at least, by the body of the chunk `desc` and those that
    the packet table states: ffmpeg states whole packets, and of MP3 longer ones than there are."""
    if len(description) < DESCRIPTION.size:
        return 0
    _, coding, _, _, samples, _, _ = DESCRIPTION.unpack(description[: DESCRIPTION.size])
    return 0 if coding == MP3 else max(0, valid - (samples or LONGEST_PACKET))


def contradiction(
    description: bytes, cookie: bytes, packets: Packets | None, there: int
) -> str | None:
    """Return in words how the packets, or the parameters of the coding, differ from what a file
    states, None if they do not.

    description, cookie: the bodies of the chunks `desc` and `kuki`. there: bytes of all packets.
    """
    if len(description) < DESCRIPTION.size:
        return None
    rate, coding, flags, size, samples, channels, bits = DESCRIPTION.unpack(
        description[: DESCRIPTION.size]
    )
    if coding != LINEAR and coding.lower() == LINEAR:  # ffmpeg takes it for 8 bits
        return f"its header states an unknown coding, {ascii(coding)[1:]}"
    if coding == b"alac" and len(cookie) >= COOKIE.size:
        held = COOKIE.unpack(cookie.removeprefix(OLD_COOKIE)[: COOKIE.size])
        bits = ALAC_BITS.get(flags, held[2])
        if held != (samples, 0, bits, *RICE, channels, round(rate)) or bits not in ALAC_DEPTHS:
            return "the parameters of its coding contradict its header"
    if size == 0 and packets:
        if (packets.sizes, packets.total) != (packets.count, there):
            return f"its packet table states {packets.total} bytes of {there}"
        return None
    least = -(-bits // 8)
    usual = (least, ALIGNED) if coding == LINEAR and least else PACKETS.get(coding, ())
    if usual and samples and size not in [channels * count for count in usual]:
        return f"its header states {channels} channels in packets of {size} bytes"
    return None
