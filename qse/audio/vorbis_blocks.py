"""Count the samples in the packets of a Vorbis stream (Vorbis I, sections 4.2.4, 4.3.1, 4.3.8)."""

from collections.abc import Iterable
from dataclasses import dataclass

MODE = 41  # bits of a mode: its block size, window type, transform type and mapping
MOST_MODES = 64
COUNT = 6  # bits of the number of modes less one, before them


@dataclass(frozen=True)
class Blocks:
    """sizes: samples of the blocks of each mode."""

    sizes: list[int]

    @classmethod
    def of(cls, identification: bytes, setup: bytes) -> "Blocks | None":
        """Return the blocks of a stream by its first and its third packet, None if they are
        damaged."""
        if len(identification) < 29:
            return None
        exponents = identification[28] & 15, identification[28] >> 4
        modes = _modes(int.from_bytes(setup, "little"))
        return cls([1 << exponents[is_long] for is_long in modes]) if modes else None

    def samples(self, packets: Iterable[bytes]) -> int:
        """Return how many samples the first packets of the sound give: each a quarter of its block
        and of the one before it."""
        bits = (len(self.sizes) - 1).bit_length()
        sizes = []
        for packet in packets:
            mode = (int.from_bytes(packet[:2], "little") >> 1) & ((1 << bits) - 1)
            if mode < len(self.sizes):
                sizes.append(self.sizes[mode])
        return sum(sizes) // 2 - (sizes[0] + sizes[-1]) // 4 if sizes else 0


def _modes(bits: int) -> list[int]:
    """Return whether the block of each mode is long, 1 or 0, by the bits of a setup header, the
    modes of which are its end; none if it is damaged.

    Nothing says where they begin: the largest number of modes that the bits before them agree to
    is taken.
    """
    at = bits.bit_length() - 1  # the last bit that is set ends the header
    found: list[int] = []
    agreed: list[int] = []
    while at >= MODE + COUNT and len(found) < MOST_MODES:
        at -= MODE
        mode = bits >> at
        # no other types of windows and transforms are defined, and no more mappings
        if mode >> 1 & 0xFFFFFFFF or (mode >> 33 & 0xFF) >= MOST_MODES:
            break
        found.insert(0, mode & 1)
        if (bits >> at - COUNT & MOST_MODES - 1) + 1 == len(found):
            agreed = list(found)
    return agreed
