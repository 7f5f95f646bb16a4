"""Widen trained weights: a network with more channels computes at first what the narrow one does.

Some channels, or all, are copied, and the weights of the next layer are divided among the copies at
random, so that these learn different things (Chen, Goodfellow & Shlens 2016, "Net2Net: Accelerating
Learning via Knowledge Transfer").
"""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from ..networks.dense_block import DenseBlock
from ..nn.declared import declared_weights, layer_name
from ..nn.hypercomplex import HypercomplexWeight


def widen(network: nn.Module, narrow: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return `narrow`, the weights of `network` with fewer channels and as many heads, widened to
    `network`.

    With a multiple of the channels it computes the same; with others nearly the same, for the mean
    and the RMS of a layer norm include the copies. A weight that would have to shrink is unchanged,
    and so are all in a network of another algebra, or of real layers.
    """
    if stops_widening(network) is not None:
        return dict(narrow)
    wide = {}
    sizes = {name: tensor.shape for name, tensor in network.state_dict().items()}
    for path, module in network.named_modules():
        for name in getattr(module, "not_widened", ()):
            del sizes[f"{path}.{name}" if path else name]
    inputs = _inputs(network)
    queries = _queries(network)
    random = torch.Generator().manual_seed(0)
    dense = _dense(network, narrow)
    for name, weight in narrow.items():
        read = inputs.get(name)
        for dim, (size, old) in enumerate(zip(sizes.get(name, ()), weight.shape, strict=False)):
            if (
                size <= old
                or (read is not None and dim > read)
                or (name.endswith(".band") and dim == 0)
            ):
                continue  # no kernel grows, nor the number of bands
            origin = dense[name] if dim == read and name in dense else _origin([size], [old])
            weight = weight.index_select(dim, origin)
            if dim == read:
                weight *= _shares(weight, dim, origin, random)
            elif (
                name in queries
            ):  # more products, some of them several times; the scale is the root of their number
                factor = math.sqrt(size / old) / origin.bincount()[origin]
                factor[size // queries[name] :] = 1
                weight *= factor.view(-1, *[1] * (weight.ndim - dim - 1))
        wide[name] = weight
    return wide


def stops_widening(network: nn.Module) -> str | None:
    """Return the name of the first layer for which no weight of the network is widened, of another
    algebra or of real numbers; None where there is none."""
    for path, module in network.named_modules():
        if isinstance(module, HypercomplexWeight | nn.Linear):
            return layer_name(module, path)
    return None


def _origin(sizes: Sequence[int], olds: Sequence[int]) -> Tensor:
    """Return which old channel each new channel copies, for parts of `sizes` channels that had
    `olds`, in order.

    Parts that grow by the same factor, such as heads, are one part: a copy then lies in the part of
    its channel.
    """
    parts = []
    start = 0
    for size, old in zip(sizes, olds, strict=True):
        parts.append(torch.arange(size) * old // size + start)
        start += old
    return torch.cat(parts)


def _shares(weight: Tensor, dim: int, origin: Tensor, random: torch.Generator) -> Tensor:
    """Return random numbers in the shape of `weight`;
    those of all copies of a channel sum to one."""
    share = torch.rand(weight.shape, generator=random)
    return share / torch.zeros_like(share).index_add(dim, origin, share).index_select(dim, origin)


def _inputs(network: nn.Module) -> dict[str, int]:
    """Return, for every weight that sums over channels, the dimension that holds them."""
    found = {weight.full_name: weight.input_dim for weight in declared_weights(network)}
    for path, module in network.named_modules():
        if isinstance(module, nn.Conv2d):
            found[f"{path}.weight"] = 1
    return found


def _dense(network: nn.Module, narrow: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the origins of the inputs of dense blocks: their input and their layers may grow
    differently."""
    found = {}
    for path, block in network.named_modules():
        first = f"{path}.layers.layer0.conv.conv.weight"
        if isinstance(block, DenseBlock) and first in narrow:
            _, growth, channels, *_ = block.layers["layer0"].conv.conv.weight.shape
            _, old_growth, old, *_ = narrow[first].shape
            layers = [f"layers.{layer}.conv" for layer in block.layers]
            for n, layer in enumerate([*layers, "out"]):
                name = f"{path}.{layer}.conv.weight"
                olds = [old, *[old_growth] * n]
                if name in narrow and narrow[name].shape[2] == sum(olds):  # as many layers
                    found[name] = _origin([channels, *[growth] * n], olds)
    return found


def _queries(network: nn.Module) -> dict[str, int]:
    """Return the weights that the scores of attention are proportional to, by the `score_weights`
    of layers."""
    found: dict[str, int] = {}
    for path, module in network.named_modules():
        if hasattr(module, "score_weights"):
            for name, parts in module.score_weights().items():
                found[f"{path}.{name}"] = parts
    return found
