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
    kept = []
    rest = bins
    for size, width in ranges:
        if rest > 0:
            kept.append((min(size, rest), width))
        rest -= size
    return tuple(kept)


def bands_of(ranges: Ranges) -> list[int]:
    """Return the number of bands in every range."""
    return [bins // width for bins, width in ranges]


class BandSplit(nn.Module):
    """Split bins into bands by one strided convolution per range: (B, 4, 1, T, F) ->
    (B, 4, C, T, bands).

    `ranges`: pairs (bins, bins per band) from low to high frequency.
    """

    MARGIN = 2  # bins that a kernel covers beyond its band, on each side
    convs: Any

    def __init__(self, channels: int, ranges: Ranges):
        super().__init__()
        self.ranges = ranges
        self.convs = nn.ModuleList()
        for _, width in ranges:
            kernel = (1, width + 2 * self.MARGIN)
            self.convs.append(QuaternionConv2d(1, channels, kernel, stride=(1, width), bias=False))
        self.norm = QuaternionBatchNorm2d(channels)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x: Tensor) -> Tensor:
        x = channels_innermost(F.pad(x, (self.MARGIN, self.MARGIN)))
        parts = []
        for conv, (first, last) in zip(self.convs, self._ends(), strict=True):
            parts.append(conv(x[..., first : last + 2 * self.MARGIN]))
        return self.act(self.norm(join(parts, -1)))

    def receptive_fields(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return the bins that the kernels of every range cover, (first, last + 1), and the zeros
        beyond both ends."""
        covered = []
        zeros = []
        ends = self._ends()
        bins = ends[-1][1]
        for first, last in ends:
            start = max(first - self.MARGIN, 0)
            end = min(last + self.MARGIN, bins)
            covered.append((start, end))
            zeros.append((start - (first - self.MARGIN), last + self.MARGIN - end))
        return covered, zeros

    def below(self, bins: int) -> "BandSplit":
        """Return the split of the first `bins` bins, which shares its weights with this one."""
        part = copy.copy(self)
        part.ranges = ranges_below(self.ranges, bins)
        part._modules = {**self._modules, "convs": self.convs[: len(part.ranges)]}
        return part

    def _ends(self) -> list[tuple[int, int]]:
        """Return the first bin of every range, and the one after its last."""
        sizes = [bins for bins, _ in self.ranges]
        return list(pairwise(accumulate(sizes, initial=0)))


class BandMerge(nn.Module):
    """Merge bands to bins by one sub-pixel up-sampling per range: (B, 4, C, T, bands) ->
    (B, 4, C', T, F)."""

    ups: Any

    def __init__(self, in_channels: int, out_channels: int, ranges: Ranges):
        super().__init__()
        self.ranges = ranges
        self.ups = nn.ModuleList()
        for _, width in ranges:
            self.ups.append(FrequencyUpsample(in_channels, out_channels, width))
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x: Tensor) -> Tensor:
        parts = x.split(bands_of(self.ranges), dim=-1)
        merged = [up(part) for up, part in zip(self.ups, parts, strict=True)]
        return self.act(join(merged, -1))

    def below(self, bins: int) -> "BandMerge":
        """Return the merge to the first `bins` bins, which shares its weights with this one."""
        part = copy.copy(self)
        part.ranges = ranges_below(self.ranges, bins)
        part._modules = {**self._modules, "ups": self.ups[: len(part.ranges)]}
        return part
