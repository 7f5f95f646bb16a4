"""A network made ready to run: batch norms in the convolutions before them, quaternion weights as real matrices, the
Fourier transforms in factors.

The folded copy computes the same function by the same `forward` lines of the network, its encoder, its decoder and its
blocks; what they consist of is replaced. Its features have real channels and no quaternion axis (`nn.real`).
"""

import copy
from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch import nn

from ..networks.bottleneck import DualPathBlock
from ..networks.dense_block import CausalUnit, ConvUnit, DenseBlock
from ..networks.streaming import BandMerge, BandSplit, Decoder, StreamingEnhancer
from ..nn.attention import SharedScoreAttention
from ..nn.hamilton import HamiltonAttention
from ..nn.linear import QuaternionLinear
from ..nn.norm import QuaternionLayerNorm
from ..nn.recurrent import QuaternionGRU
from .fourier import FactoredAnalysis, FactoredSynthesis
from .real_blocks import DelayedConv, RealBandSplit, RealDenseBlock, RealFuse, real_unit
from .real_layers import (
    Quaternions,
    RealAttention,
    RealFeatures,
    RealGRU,
    RealHamiltonAttention,
    RealLayerNorm,
    RealMask,
    real_conv,
    real_linear,
    side_by_side,
)

LEAVES: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    BandSplit: RealBandSplit,
    QuaternionLinear: real_linear,
    QuaternionLayerNorm: RealLayerNorm,
    SharedScoreAttention: RealAttention,
    HamiltonAttention: RealHamiltonAttention,
    QuaternionGRU: RealGRU,
    DenseBlock: RealDenseBlock,
    ConvUnit: real_unit,
    CausalUnit: DelayedConv,
}


@torch.no_grad()
def fold(network: nn.Module) -> nn.Module:
    """A copy of the streaming `network` in eval mode, in real numbers, without batch norms."""
    network = copy.deepcopy(network).eval()
    for module in list(network.modules()):
        _prepare(module)
    _replace(network)
    return network


def _replace(module: nn.Module) -> None:
    for name, child in module.named_children():
        make = LEAVES.get(type(child))
        if make is not None:
            setattr(module, name, make(child))
        elif not isinstance(child, Quaternions):
            _replace(child)


def _prepare(module: nn.Module) -> None:
    """What composites hold beside their children, and children that are replaced together."""
    if isinstance(module, StreamingEnhancer):
        n_fft, (seen, _) = module.config.n_fft, module.encoder.split.reach()
        bins = torch.tensor(list(chain.from_iterable(range(*ends) for ends in seen)))
        module.features = RealFeatures(module.features, n_fft, bins)
        module.analysis, module.synthesis = FactoredAnalysis(module.analysis), FactoredSynthesis(module.synthesis)
        module.mask = RealMask(n_fft, n_fft // 2)
        module.synthesis.window *= 2  # of 2 sigmoid(o0)
    elif isinstance(module, BandMerge):
        for up in module.ups:
            up.conv = nn.Sequential(real_conv(up.conv), module.act)
        module.act = nn.Identity()
    elif isinstance(module, DualPathBlock):
        if module.band is not None:
            module.band = nn.Parameter(module.band.mT.flatten(1))
        if module.time is not None and type(module.time) not in LEAVES:
            module.time = Quaternions(module.time)
    elif isinstance(module, Decoder):
        module.fuse1, module.fuse0 = RealFuse(module.fuse1, module.up2), RealFuse(module.fuse0, module.up1)
        module.head.weight = nn.Parameter(side_by_side(module.head.weight, 1))
        module.head.get_parameter("bias")[1] += 1  # of 1 + o1 + i o2
