"""Describe a talker by the states of a network that adapts to talkers, and begin streams for them.

A talker is described by the means over time of what the time mixers of these blocks put out while
the talker speaks, in each of the bands that all sample rates share; `TalkerCode` makes entries of
the state of them. They are found at 16 kHz; entries of the bands above are zero.

Glossary: B talkers, N samples, T hops, F bands.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..nn.talker import Vectors
from ..runtime.enrolment import SPEAKING
from .network import evaluating
from .streaming import StreamingEnhancer


def describe(network: StreamingEnhancer, audio: Tensor) -> Vectors:
    """Return the entries, (B, 2, F, 4, C) of each block that adapts, of the talkers of `audio`,
    (B, N) of whole hops at the network's rate.

    Those of audio of zeros are zeros. States are computed as in evaluation mode and without
    gradients; if the network is in training mode, they enter its mean over talkers, but not the
    statistics of its batch norms.
    """
    return network.talker(*mean_states(network, audio))


@torch.no_grad()
def mean_states(network: StreamingEnhancer, audio: Tensor) -> tuple[Vectors, Tensor]:
    """Return (means over hops with speech of what the time mixers put out, (B, F, 4, C) of each
    block; whether there is sound, (B,) of 1 or 0) for `audio` as `describe` takes it."""
    power = audio.unflatten(1, (-1, network.config.hop_length)).square().mean(-1)  # B, T
    loudest = power.amax(1, keepdim=True)
    speaks = ((power > SPEAKING * loudest) & (loudest > 0)).to(audio.dtype)
    share = speaks / speaks.sum(1, keepdim=True).clamp_min(1)
    means: Vectors = {}
    hooks = []
    for name, block in network.bottleneck.adaptive():
        keep = partial(_keep_mean, means, name, share)
        hooks.append(block.time.register_forward_hook(keep))
    try:
        with evaluating(network):
            network.encoded(audio, {})
    finally:
        for hook in hooks:
            hook.remove()
    return means, (loudest[:, 0] > 0).to(audio.dtype)


def beginning(network: StreamingEnhancer, entries: Vectors) -> dict[str, Any]:
    """Return the state in which a stream of `network` begins that keeps the talkers of these
    entries."""
    blocks = {}
    for name, entry in entries.items():
        missing = network.bands - entry.shape[2]
        scale, shift = pad(entry, (0, 0, 0, 0, 0, missing)).unbind(1)
        blocks[name] = {"scale": scale.flatten(0, 1), "shift": shift.flatten(0, 1)}
    return {"bottleneck": blocks}


def _keep_mean(
    means: Vectors, name: str, share: Tensor, _: Any, given: Any, returned: tuple[Tensor, Any]
) -> None:
    """Keep the mean of the output of a time mixer, (B * F, T, 4, C). share: weights (B, T)."""
    y = returned[0].unflatten(0, (len(share), -1))
    means[name] = torch.einsum("bt,bftqc->bfqc", share.to(y.dtype), y)
