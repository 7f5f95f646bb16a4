"""Count the samples that a format cannot store because they are beyond full scale."""

import math
from collections.abc import Iterable, Iterator

import numpy as np


class ClipMeter:
    """Count samples beyond full scale.

    `count`: how many there are; `peak`: the largest of them, 1 for full scale.
    """

    def __init__(self) -> None:
        self.count = 0
        self.peak = 1.0

    def counted(self, blocks: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield the blocks (samples, channels) as they are, and count."""
        for block in blocks:
            size = np.abs(block)
            self.count += int(np.count_nonzero(size > 1))
            self.peak = max(self.peak, float(size.max(initial=0)))
            yield block

    def said(self) -> str | None:
        """Return how much was clipped, in words; None if nothing was."""
        if not self.count:
            return None
        samples = "1 sample was" if self.count == 1 else f"{self.count} samples were"
        return f"{samples} clipped, by up to {20 * math.log10(self.peak):.1f} dB"
