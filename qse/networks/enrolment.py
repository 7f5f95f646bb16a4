"""Describe a talker by the states of a network that adapts to talkers, and begin streams for them.

The vectors of a talker are the means over time of what the time mixers of these blocks put out
while the talker speaks, for each band, standardised over talkers. They are found at 16 kHz; bands
above stay at zero.

Glossary: B talkers, N samples, T hops, F bands.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..nn.talker import TalkerScale
from .bottleneck import DualPathBlock
from .network import evaluating
from .streaming import StreamingEnhancer

SPEAKING = 10**-3.5  # of the power of the loudest hop

Vectors = dict[str, Tensor]
"""Of each block that adapts, by its name: (B, F, 4, C)."""


@torch.no_grad()
def describe(network: StreamingEnhancer, audio: Tensor) -> Vectors:
    """Return the vectors of the talkers of `audio`, (B, N) of whole hops at the network's rate.

    Those of audio of zeros are zeros. It is computed as in evaluation mode; if the network is in
    training mode, `audio` enters its statistics of talkers, but not those of its batch norms.
    """
    power = audio.unflatten(1, (-1, network.config.hop_length)).square().mean(-1)  # B, T
    loudest = power.amax(1, keepdim=True)
    speaks = ((power > SPEAKING * loudest) & (loudest > 0)).to(audio.dtype)
    share = speaks / speaks.sum(1, keepdim=True).clamp_min(1)
    vectors = _mean_states(network, audio, share)
    heard = (loudest[:, 0] > 0).to(audio.dtype)
    for name, _, layer in _adaptive(network):
        vectors[name] = layer.standardised(vectors[name], heard)
    return vectors


def _mean_states(network: StreamingEnhancer, audio: Tensor, share: Tensor) -> Vectors:
    """Return the means over hops of what the time mixers put out. share: weights (B, T)."""
    means: Vectors = {}
    hooks = []
    for name, block, _ in _adaptive(network):
        keep = partial(_keep_mean, means, name, share)
        hooks.append(block.time.register_forward_hook(keep))
    try:
        with evaluating(network):
            network(audio)
    finally:
        for hook in hooks:
            hook.remove()
    return means


def beginning(network: StreamingEnhancer, vectors: Vectors) -> dict[str, Any]:
    """Return the state in which a stream of `network` begins that keeps these talkers; vectors of
    fewer bands are filled with zeros."""
    blocks = {}
    for name in vectors:
        missing = network.bands - vectors[name].shape[1]
        blocks[name] = {"talker": pad(vectors[name], (0, 0, 0, 0, 0, missing)).flatten(0, 1)}
    return {"bottleneck": blocks}


def _adaptive(network: StreamingEnhancer) -> Iterator[tuple[str, DualPathBlock, TalkerScale]]:
    for name, block in network.bottleneck.blocks.items():
        if isinstance(block, DualPathBlock) and block.talker is not None:
            yield name, block, block.talker


def _keep_mean(
    means: Vectors, name: str, share: Tensor, _: Any, given: Any, returned: tuple[Tensor, Any]
) -> None:
    """Keep the mean of the output of a time mixer, (B * F, T, 4, C). share: weights (B, T)."""
    y = returned[0].unflatten(0, (len(share), -1))
    means[name] = torch.einsum("bt,bftqc->bfqc", share.to(y.dtype), y)
