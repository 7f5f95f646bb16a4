"""Fit trained weights to a network with more or fewer ranges of the spectrum on top, as from 16 to
48 kHz or back.

A new range starts from the highest one that was trained: its kernels are stretched to the wider
bands, and the new bands have the embedding of the last one.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..networks.bottleneck import DualPathBlock
from ..nn.band_split import BandMerge, BandSplit, Ranges


def fit_ranges(network: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return `weights` for the ranges and bands of `network`: without those that it lacks, and with
    those that it adds.

    The ranges that both have must be equal, which names and shapes do not show. Other weights stay
    as they are.
    """
    found = dict(weights)
    for path, module in network.named_modules():
        if isinstance(module, BandSplit):
            _fit(found, f"{path}.convs.", ("weight",), module.ranges, _stretched_split)
        elif isinstance(module, BandMerge):
            _fit(
                found, f"{path}.ups.", ("conv.weight", "conv.bias"), module.ranges, _stretched_merge
            )
    if found.keys() != weights.keys():  # other ranges, so other bands
        for path, module in network.named_modules():
            name = f"{path}.band"
            if isinstance(module, DualPathBlock) and name in found:
                band = found[name]
                found[name] = band[torch.arange(len(module.band)).clamp_max(len(band) - 1)]
    return found


def _fit(
    weights: dict[str, Tensor],
    prefix: str,
    names: Sequence[str],
    ranges: Ranges,
    stretched: Callable[[Tensor, int, int], Tensor],
) -> None:
    """Remove the weights `prefix`N of ranges N beyond `ranges`; make missing `names` from those of
    the range below."""
    for key in list(weights):
        if key.startswith(prefix):
            number, _, _ = key.removeprefix(prefix).partition(".")
            if int(number) >= len(ranges):
                del weights[key]
    for n, ((_, below), (_, width)) in enumerate(pairwise(ranges)):
        for name in names:
            if f"{prefix}{n}.{name}" in weights and f"{prefix}{n + 1}.{name}" not in weights:
                weights[f"{prefix}{n + 1}.{name}"] = stretched(
                    weights[f"{prefix}{n}.{name}"], below, width
                )


def _stretched_split(weight: Tensor, old: int, new: int) -> Tensor:
    """Stretch the kernel (4, C, 1, 1, bins) of a band of `old` bins to one of `new` bins; its sum
    stays the same."""
    bins = weight.shape[-1] + new - old
    wide = F.interpolate(weight.flatten(0, 3)[None], bins, mode="linear")[0]
    return wide.view(*weight.shape[:-1], bins) * (weight.shape[-1] / bins)


def _stretched_merge(weight: Tensor, old: int, new: int) -> Tensor:
    """Repeat the filters (4, old * C', ...) of a band of `old` bins over the bins of one
    of `new`."""
    return weight.unflatten(1, (old, -1))[:, torch.arange(new) * old // new].flatten(1, 2)
