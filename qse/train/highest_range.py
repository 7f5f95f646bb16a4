"""Train the highest range of bands alone, as after the step from 16 to 48 kHz."""

import torch
from torch import nn

from ..nn.band_split import BandSplit


def train_highest_range_only_(network: nn.Module) -> None:
    """Fix all weights but those of the highest range of bands, and the statistics of all batch
    norms.

    Below that range the network computes the same before and after training, at the sample rate
    where it ends. Raises ValueError for a network without several ranges.
    """
    splits = [module for module in network.modules() if isinstance(module, BandSplit)]
    if not splits or len(splits[0].ranges) < 2:
        raise ValueError(
            "highest_range_only needs a streaming network with several ranges of bands"
        )
    highest = len(splits[0].ranges) - 1
    # bands of the bottleneck
    kept = sum(bins // width for bins, width in splits[0].ranges[:highest]) // 4
    for name, parameter in network.named_parameters():
        if name.endswith(".band"):
            parameter.register_hook(
                lambda gradient: torch.cat([torch.zeros_like(gradient[:kept]), gradient[kept:]])
            )
        elif f".convs.{highest}." not in name and f".ups.{highest}." not in name:
            parameter.requires_grad_(False)
    network.eval()
