"""A network made ready to run: batch norms in the convolutions before them, quaternion weights as real matrices, the
Fourier transforms in factors.

The folded copy computes the same function by the same `forward` lines; only leaves are replaced. Its features have
real channels and no quaternion axis (`nn.real`).
"""

import copy
from collections.abc import Callable

import torch
from torch import nn

from ..nn.attention import SharedScoreAttention
from ..nn.conv import QuaternionConv2d
from ..nn.features import QuaternionFeatures
from ..nn.fourier import FactoredAnalysis, FactoredSynthesis
from ..nn.linear import QuaternionLinear
from ..nn.norm import QuaternionLayerNorm
from ..nn.real import (
    DelayedConv,
    Quaternions,
    RealAttention,
    RealFeatures,
    RealGRU,
    RealLayerNorm,
    real_conv,
    real_linear,
    side_by_side,
)
from ..nn.recurrent import QuaternionGRU
from ..nn.stft import Analysis, Synthesis
from .bottleneck import BandTimeBlock
from .dense import CausalUnit, ConvUnit
from .live import Decoder, RangeJoin, RangeSplit

LEAVES: dict[type[nn.Module], Callable[[nn.Module], nn.Module]] = {
    Analysis: FactoredAnalysis,
    Synthesis: FactoredSynthesis,
    QuaternionFeatures: RealFeatures,
    QuaternionConv2d: real_conv,
    QuaternionLinear: real_linear,
    QuaternionLayerNorm: RealLayerNorm,
    SharedScoreAttention: RealAttention,
    QuaternionGRU: RealGRU,
    ConvUnit: lambda unit: nn.Sequential(real_conv(unit.conv, unit.norm), unit.act),
    CausalUnit: lambda unit: DelayedConv(unit.conv.conv, unit.norm, unit.act, unit.gated),
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
    """What composites hold beside their children."""
    if isinstance(module, RangeSplit):
        parts = [nn.Sequential(real_conv(conv, module.norm), module.act) for conv in module.convs]
        module.convs, module.norm, module.act = nn.ModuleList(parts), nn.Identity(), nn.Identity()
    elif isinstance(module, RangeJoin):
        for up in module.ups:
            up.conv = nn.Sequential(real_conv(up.conv), module.act)
        module.act = nn.Identity()
    elif isinstance(module, BandTimeBlock):
        module.band = nn.Parameter(module.band.mT.flatten(1))
        if type(module.time) not in LEAVES:
            module.time = Quaternions(module.time)
    elif isinstance(module, Decoder):
        module.head.weight = nn.Parameter(side_by_side(module.head.weight, 1))
