"""Count the samples in the packets of a stream of Ogg, to which its positions must add up."""

from .ogg_comments import HEADERS
from .ogg_page import OPUS_RATE, Packets
from .vorbis_blocks import Blocks

# tenths of a millisecond of a frame, by the configuration of a packet (RFC 6716, section 3.1)
FRAMES = ((100, 200, 400, 600),) * 3 + ((100, 200, 100, 200),) + ((25, 50, 100, 200),) * 4


class Durations:
    """Count the samples of a stream, page by page."""

    def __init__(self) -> None:
        self._headers: list[bytes] = []
        self._wanted = 0  # headers; 0 if the coding is not known
        self._packets = Packets()
        self._before: list[bytes] = []  # the last packet
        self._blocks: Blocks | None = None

    def samples(self, page: bytes) -> int | None:
        """Return the samples per channel of the packets that end on the next page, None if they are
        not known."""
        is_sound = len(self._headers) == self._wanted > 0
        packets = self._packets.ended(page, 2) if is_sound else self._packets.ended(page)
        if not self._headers and packets:
            known = (HEADERS[name] for name in HEADERS if packets[0].startswith(name))
            _, self._wanted = next(known, (b"", 0))
        if not self._wanted:
            return None
        lacking = self._wanted - len(self._headers)
        self._headers += packets[:lacking]
        if lacking and len(self._headers) == self._wanted == 3:
            self._blocks = Blocks.of(self._headers[0], self._headers[2])
        sound = packets[lacking:]
        if self._wanted == 2:
            return sum(map(_opus_samples, sound))
        if self._blocks is None:
            return None
        count = self._blocks.samples([*self._before, *sound])
        self._before = sound[-1:] or self._before
        return count


def _opus_samples(packet: bytes) -> int:
    """Return the samples per channel of a packet (RFC 6716, section 3.1), 0 for a damaged one."""
    if not packet:
        return 0
    configuration = packet[0] >> 3
    counted = packet[1] & 63 if len(packet) > 1 else 0
    frames = (1, 2, 2, counted)[packet[0] & 3]
    return frames * FRAMES[configuration // 4][configuration % 4] * OPUS_RATE // 10_000
