"""Take a part of a recording, with what comes before it for the model to hear."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import QseError

LEAD = 4.0  # seconds before a part that the model hears


@dataclass(frozen=True)
class Part:
    """From `start` to `stop`, in seconds of a recording."""

    start: float = 0.0
    stop: float = math.inf

    def first(self, sample_rate: int) -> int:
        """Return the first sample that the model hears."""
        return round(max(0.0, self.start - LEAD) * sample_rate)

    def end(self, sample_rate: int) -> float:
        """Return the sample behind the last one."""
        return math.inf if self.stop == math.inf else round(self.stop * sample_rate)


def noisy_part(
    blocks: Iterable[np.ndarray], sample_rate: int, part: Part, name: str
) -> Iterator[np.ndarray]:
    """Yield the samples of a part, and of its lead, of blocks (samples, channels) of a recording.

    Raises QseError if the recording ends before the part begins, or the part holds no samples.
    """
    first = part.first(sample_rate)
    begin = round(part.start * sample_rate)
    end = part.end(sample_rate)
    if begin >= end:
        raise QseError(f"{name}: the part is shorter than a sample: name a longer one")
    read = 0
    for block in blocks:
        wanted = block[max(0, first - read) : max(0, int(min(end - read, len(block))))]
        read += len(block)
        if len(wanted):
            yield wanted
    if read <= begin:
        seconds = read / sample_rate
        raise QseError(f"{name} ends at {seconds:.2f} s, before the part begins: name another part")


def without_lead(blocks: Iterable[np.ndarray], samples: int) -> Iterator[np.ndarray]:
    """Yield blocks without their first `samples` samples."""
    for block in blocks:
        skipped = min(samples, len(block))
        samples -= skipped
        if skipped < len(block):
            yield block[skipped:]
