"""A network of twice the channels that computes what the narrow one did, so that training can go on from there.

Every channel is there twice, and what reads the two splits its weight between them at random, so that they learn
different things (Chen, Goodfellow & Shlens, "Net2Net: Accelerating Learning via Knowledge Transfer", 2016).
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..networks.algebra import GATES, WEIGHTS
from ..nn.attention import CausalSharedScoreAttention, Projections
from ..nn.hypercomplex import HypercomplexWeight
from ..nn.norm import QuaternionRMSNorm
from ..nn.token import GlobalToken


def widen(network: nn.Module, narrow: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """`narrow`, the weights of `network` with half as many channels, as `network` needs them.

    Whatever has the size that it should have, or neither that one nor half of it, stays as it is; and so does all in a
    network of another algebra.
    """
    wide, sizes = {}, {name: tensor.shape for name, tensor in network.state_dict().items()}
    for path, module in network.named_modules():
        if isinstance(module, HypercomplexWeight):
            return dict(narrow)
        if isinstance(module, CausalSharedScoreAttention):
            del sizes[f"{path}.bias"]  # by distance in time: twice the window is not twice the channels
    inputs, queries, random = _inputs(network), _queries(network), torch.Generator().manual_seed(0)
    for name, weight in narrow.items():
        for dim, (size, old) in enumerate(zip(sizes.get(name, ()), weight.shape, strict=False)):
            if size == 2 * old:
                weight = _split(weight, dim, random) if dim == inputs.get(name) else weight.repeat_interleave(2, dim)
        if name in queries and weight.shape != narrow[name].shape:
            weight[queries[name]] /= math.sqrt(2)  # twice as many products, and the scale is the root of their number
        wide[name] = weight
    return wide


def _split(weight: Tensor, dim: int, random: torch.Generator) -> Tensor:
    """`weight` with every slice along `dim` there twice, in shares that add up to it."""
    share = torch.rand(weight.shape, generator=random)
    return torch.stack([share * weight, (1 - share) * weight], dim + 1).flatten(dim, dim + 1)


def _inputs(network: nn.Module) -> dict[str, int]:
    """Of every weight that sums over channels: the dimension that holds them."""
    found = {}
    for path, module in network.named_modules():
        found |= {f"{path}.{name}": 2 for name in WEIGHTS.get(type(module), ())}  # 4, out, in, *kernel
        found |= {f"{path}.{name}": 3 for name in GATES.get(type(module), ())}  # gates, 4, out, in
        if isinstance(module, nn.Conv2d):
            found[f"{path}.weight"] = 1
    return found


def _queries(network: nn.Module) -> dict[str, tuple[slice, ...]]:
    """The weights, or what part of them, that attention is proportional to before its scale."""
    found = {}
    for path, module in network.named_modules():
        if isinstance(module, GlobalToken):
            found[f"{path}.key"] = ()
        elif isinstance(module, Projections) and isinstance(module.norm_q, QuaternionRMSNorm):
            found[f"{path}.norm_q.gain"] = ()
        elif isinstance(module, Projections):
            queries = (slice(None), slice(module.linear.weight.shape[1] // 3))  # 4, out, ...: Q, then K and V
            found |= {f"{path}.linear.{name}": queries for name in ("weight", "bias")}
    return found
