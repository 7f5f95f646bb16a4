"""Split the bins of a spectrum into bands of several widths, and merge them again.

Each range of the spectrum has a kernel of its own: narrow bands at low frequencies, wide ones
above.
"""

import copy
from itertools import accumulate, pairwise
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from .batch_norm import QuaternionBatchNorm2d
from .conv import FrequencyUpsample, QuaternionConv2d
from .layout import channels_innermost, join

Ranges = tuple[tuple[int, int], ...]  # (bins, bins per band), from low to high frequency


def ranges_below(ranges: Ranges, bins: int) -> Ranges:
    """Return the ranges of the first `bins` bins; the last one may be cut."""
    ends = accumulate(size for size, _ in ranges)
    clipped = (
        (size - max(0, end - bins), width) for (size, width), end in zip(ranges, ends, strict=True)
    )
    return tuple((size, width) for size, width in clipped if size > 0)


class BandSplit(nn.Module):
    """Split bins into bands by one strided convolution per range: (B, 4, 1, T, F) -> (B, 4, C, T,
    bands).

    `ranges`: pairs (bins, bins per band) from low to high frequency.
    """

    MARGIN = 2  # bins that a kernel covers beyond its band, on each side
    convs: Any

    def __init__(self, channels: int, ranges: Ranges):
        super().__init__()
        self.ranges = ranges
        self.convs = nn.ModuleList(
            QuaternionConv2d(
                1, channels, (1, width + 2 * self.MARGIN), stride=(1, width), bias=False
            )
            for _, width in ranges
        )
        self.norm = QuaternionBatchNorm2d(channels)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x: Tensor) -> Tensor:
        x = channels_innermost(F.pad(x, (self.MARGIN, self.MARGIN)))
        spans = ((first, last + 2 * self.MARGIN) for first, last in self._ends())
        parts = [
            conv(x[..., first:last]) for conv, (first, last) in zip(self.convs, spans, strict=True)
        ]
        return self.act(self.norm(join(parts, -1)))

    def receptive_fields(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return the bins that the kernels of every range cover, (first, last + 1), and the zeros
        beyond both ends."""
        ends = self._ends()
        spans = [(first - self.MARGIN, last + self.MARGIN) for first, last in ends]
        seen = [(max(first, 0), min(last, ends[-1][1])) for first, last in spans]
        return seen, [
            (a - first, last - b) for (first, last), (a, b) in zip(spans, seen, strict=True)
        ]

    def below(self, bins: int) -> "BandSplit":
        """Return the split of the first `bins` bins, which shares its weights with this one."""
        part = copy.copy(self)
        part.ranges = ranges_below(self.ranges, bins)
        part._modules = {**self._modules, "convs": self.convs[: len(part.ranges)]}
        return part

    def _ends(self) -> list[tuple[int, int]]:
        """Return the first bin of every range, and the one after its last."""
        return list(pairwise(accumulate((bins for bins, _ in self.ranges), initial=0)))


class BandMerge(nn.Module):
    """Merge bands to bins by one sub-pixel up-sampling per range: (B, 4, C, T, bands) -> (B, 4, C',
    T, F)."""

    ups: Any

    def __init__(self, in_channels: int, out_channels: int, ranges: Ranges):
        super().__init__()
        self.ranges = ranges
        self.ups = nn.ModuleList(
            FrequencyUpsample(in_channels, out_channels, width) for _, width in ranges
        )
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x: Tensor) -> Tensor:
        parts = x.split([bins // width for bins, width in self.ranges], dim=-1)
        return self.act(join([up(part) for up, part in zip(self.ups, parts, strict=True)], -1))

    def below(self, bins: int) -> "BandMerge":
        """Return the merge to the first `bins` bins, which shares its weights with this one."""
        part = copy.copy(self)
        part.ranges = ranges_below(self.ranges, bins)
        part._modules = {**self._modules, "ups": self.ups[: len(part.ranges)]}
        return part
