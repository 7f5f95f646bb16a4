"""Fit trained weights to a network with more or fewer ranges of the spectrum on top, as from 16 to 48 kHz or back.

A new range starts from the highest one that was trained: its kernels are stretched to the wider bands, and the
new bands have the embedding of the last one.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..networks.bottleneck import DualPathBlock
from ..nn.band_split import BandMerge, BandSplit


def add_ranges(network: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return `weights` with those of the ranges and bands that `network` has in addition; others stay as they are."""
    found = dict(weights)
    for path, module in network.named_modules():
        if isinstance(module, BandSplit):
            for n, (_, width) in enumerate(module.ranges):
                _add(found, f"{path}.convs.{n}.weight", f"{path}.convs.{n - 1}.weight", width, _stretched_split)
        elif isinstance(module, BandMerge):
            for n, (_, width) in enumerate(module.ranges):
                for part in ("weight", "bias"):
                    name, below = (f"{path}.ups.{m}.conv.{part}" for m in (n, n - 1))
                    _add(found, name, below, (module.ranges[n - 1][1], width), _stretched_merge)
        elif isinstance(module, DualPathBlock) and f"{path}.band" in found and len(found) > len(weights):  # new ranges
            band = found[f"{path}.band"]
            missing = max(0, len(module.band) - len(band))
            found[f"{path}.band"] = torch.cat([band, band[-1:].expand(missing, *band.shape[1:])])
    return found


def drop_ranges(network: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return `weights` without those of the ranges and bands that `network` lacks on top.

    The network then computes what the trained one does at the lower sample rate, if its ranges are the lowest of that.
    """
    found = dict(weights)
    for path, module in network.named_modules():
        if isinstance(module, BandSplit | BandMerge):
            prefix = f"{path}.{'convs' if isinstance(module, BandSplit) else 'ups'}."
            for name in [name for name in found if name.startswith(prefix)]:
                if int(name[len(prefix) :].split(".")[0]) >= len(module.ranges):
                    del found[name]
    if len(found) < len(weights):
        for path, module in network.named_modules():
            if isinstance(module, DualPathBlock) and f"{path}.band" in found:
                found[f"{path}.band"] = found[f"{path}.band"][: len(module.band)]
    return found


def train_highest_range_only_(network: nn.Module) -> None:
    """Fix all weights but those of the highest range of bands, and the statistics of all batch norms.

    Below that range the network computes the same before and after training, at the sample rate where it ends. Raises
    ValueError for a network without several ranges.
    """
    splits = [module for module in network.modules() if isinstance(module, BandSplit)]
    if not splits or len(splits[0].ranges) < 2:
        raise ValueError("highest_range_only needs a streaming network with several ranges of bands")
    highest = len(splits[0].ranges) - 1
    kept = sum(bins // width for bins, width in splits[0].ranges[:highest]) // 4  # bands of the bottleneck
    for name, parameter in network.named_parameters():
        if name.endswith(".band"):
            parameter.register_hook(lambda gradient: torch.cat([torch.zeros_like(gradient[:kept]), gradient[kept:]]))
        elif f".convs.{highest}." not in name and f".ups.{highest}." not in name:
            parameter.requires_grad_(False)
    network.eval()


def _add(
    weights: dict[str, Tensor], name: str, below: str, widths: Any, stretched: Callable[[Tensor, Any], Tensor]
) -> None:
    """Make the weight `name` from that of the range below, if it is missing."""
    if name not in weights and below in weights:
        weights[name] = stretched(weights[below], widths)


def _stretched_split(weight: Tensor, width: int) -> Tensor:
    """Stretch (4, C, 1, 1, bins) to the kernel of a band of `width` bins; its sum stays the same."""
    bins = width + 2 * BandSplit.MARGIN
    wide = F.interpolate(weight.flatten(0, 3)[None], bins, mode="linear")[0]
    return wide.view(*weight.shape[:-1], bins) * (weight.shape[-1] / bins)


def _stretched_merge(weight: Tensor, widths: tuple[int, int]) -> Tensor:
    """Repeat the filters of a band of the first width, (4, width * C', ...), over the bins of the second."""
    old, new = widths
    return weight.unflatten(1, (old, -1))[:, torch.arange(new) * old // new].flatten(1, 2)
