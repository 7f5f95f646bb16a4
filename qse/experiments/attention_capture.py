"""Queries, keys and values of the attention layers of a network, text or speech, for given inputs."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..errors import UsageError
from ..model_folder import weights_of
from ..networks import build_network
from ..networks.axial_attention import TIME, AlongAxis
from ..networks.offline import QuaternionConformerConfig
from ..networks.weights import load_network, model_table
from ..nn.attention import Projections
from ..nn.hamilton import component_scores
from .networks.text import (
    TextAttention,
    TextClassifier,
    attention_weights,
    dot_product_scores,
    weighted_values,
)

Scores = Callable[[Tensor, Tensor], Tensor]  # q, k -> (N, H, 4 or 1, L, L)

FORMULAS: dict[str, Scores] = {
    "shared": dot_product_scores,
    "hamilton": component_scores,
    "uniform": lambda q, k: torch.zeros_like(dot_product_scores(q, k)),
}


class Signals(NamedTuple):
    """q, k, v of one layer for N sequences, each (N, H, L, 4, d), and which tokens are no padding (N, L)."""

    q: Tensor
    k: Tensor
    v: Tensor
    seen: Tensor

    def weights(self, formula: str) -> Tensor:
        """Return attention weights (N, H, 4 or 1, L, L) by one of FORMULAS."""
        return attention_weights(FORMULAS[formula](self.q, self.k), self.seen)

    def output(self, formula: str) -> Tensor:
        """Return the attention output of tokens that are no padding, as one vector."""
        y = weighted_values(FORMULAS[formula](self.q, self.k), self.v, self.seen)  # N, H, L, 4, d
        return y.permute(0, 2, 1, 3, 4)[self.seen].flatten()


Layers = dict[str, Signals]  # by the name of the layer


@torch.no_grad()
def text_signals(network: TextClassifier, tokens: Tensor) -> Layers:
    """Return the signals of every layer for the tokens (N, L)."""
    found: Layers = {}

    def record(module: TextAttention, arguments: tuple[Tensor, Tensor]) -> None:
        q, k, v = module.queries_keys_values(arguments[0])
        found[f"layer {len(found)}"] = Signals(q, k, v, arguments[1])

    hooks = [
        m.register_forward_pre_hook(record)
        for m in network.modules()
        if isinstance(m, TextAttention)
    ]
    network(tokens)
    for hook in hooks:
        hook.remove()
    return found


@torch.no_grad()
def speech_signals(network: nn.Module, audio: Tensor) -> Layers:
    """Return the signals of every layer of the bottleneck for a recording (1, samples): "time 0", "frequency 0" ...

    A sequence is one frequency over time, or one frame over frequency.
    """
    found: dict[str, list[tuple[Tensor, ...]]] = {}

    def recorder(name: str) -> Callable[[nn.Module, tuple, tuple[Tensor, ...]], None]:
        return lambda _, __, output: found.setdefault(name, []).append(
            output
        )  # in eval mode, a few sequences a time

    hooks = [
        layer.register_forward_hook(recorder(name)) for name, layer in projections(network).items()
    ]
    network(audio)
    for hook in hooks:
        hook.remove()
    layers = {}
    for name, parts in found.items():
        q, k, v = (torch.cat(part).unflatten(-1, (4, -1)) for part in zip(*parts, strict=True))
        layers[name] = Signals(q, k, v, torch.ones(len(q), q.shape[2], dtype=torch.bool))
    return layers


def projections(network: nn.Module) -> dict[str, Projections]:
    """Return the layers that compute q, k and v of a network on speech, by "time N" or "frequency N"."""
    found: dict[str, Projections] = {}
    for along in network.modules():
        for part in along.modules() if isinstance(along, AlongAxis) else ():
            if isinstance(part, Projections):
                axis = "time" if along.axis == TIME else "frequency"
                found[f"{axis} {sum(name.startswith(axis) for name in found)}"] = part
    return found


def load_speech_network(folder: Path) -> tuple[str, nn.Module]:
    """Return shared or hamilton, and the trained network of a run. UsageError if it has no such attention."""
    network, _ = load_network(folder / "config.toml", weights_of(folder))
    config = network.config
    if not (isinstance(config, QuaternionConformerConfig) and projections(network)):
        raise UsageError(
            f"{folder}: no attention with scores in it; name a qtransformer or qtransformer-hamilton"
        )
    return config.attention, network.eval()


def untrained(folder: Path, seed: int) -> nn.Module:
    """Return the network of a run with random weights."""
    torch.manual_seed(seed)
    return build_network(model_table(folder / "config.toml")).eval()
