"""Queries, keys and values of the attention layers of a network, text or speech, for inputs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from qse.errors import UsageError
from qse.model_folder import weights_of
from qse.networks.weights import load_network, network_of
from qse.nn.attention import Projections

from .base import device_of
from .networks.axial_attention import TIME, AlongAxis
from .networks.offline_config import QuaternionConformerConfig
from .networks.text import (
    TextAttention,
    TextClassifier,
    attention_weights,
    dot_product_scores,
    weighted_values,
)
from .nn.hamilton import component_scores

Scores = Callable[[Tensor, Tensor], Tensor]  # q, k -> (N, H, 4 or 1, L, L)

FORMULAS: dict[str, Scores] = {
    "shared": dot_product_scores,
    "hamilton": component_scores,
    "uniform": lambda q, k: torch.zeros_like(dot_product_scores(q, k)),
}


class Signals(NamedTuple):
    """q, k, v of one layer for N sequences, each (N, H, L, 4, d).

    seen (N, L): which tokens are no padding.
    """

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


@contextmanager
def _removed_at_end(hooks: list[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def text_signals(network: TextClassifier, tokens: Tensor) -> Layers:
    """Return the signals of every layer for the tokens (N, L)."""
    found: Layers = {}

    def record(module: TextAttention, arguments: tuple[Tensor, Tensor]) -> None:
        x, seen = arguments
        q, k, v = module.queries_keys_values(x)
        found[f"layer {len(found)}"] = Signals(q, k, v, seen)

    hooks: list[Any] = []
    for module in network.modules():
        if isinstance(module, TextAttention):
            hooks.append(module.register_forward_pre_hook(record))
    with _removed_at_end(hooks):
        network(tokens)
    return found


@torch.no_grad()
def speech_signals(network: nn.Module, audio: Tensor) -> Layers:
    """Return the signals of every layer of the bottleneck for a recording (1, samples).

    Layers are called "time 0", "frequency 0" and so on. A sequence is one frequency over time, or
    one frame over frequency. In evaluation mode, a layer gets a few sequences at a time.
    """
    found: dict[str, list[tuple[Tensor, ...]]] = {}
    hooks: list[Any] = []
    for name, layer in projections(network).items():
        parts: list[tuple[Tensor, ...]] = []
        found[name] = parts
        hooks.append(layer.register_forward_hook(_recorder(parts)))
    with _removed_at_end(hooks):
        network(audio.to(device_of(network)))

    layers: Layers = {}
    for name, parts in found.items():
        q, k, v = (
            torch.cat(part).cpu().unflatten(-1, (4, -1)) for part in zip(*parts, strict=True)
        )
        layers[name] = Signals(q, k, v, torch.ones(len(q), q.shape[2], dtype=torch.bool))
    return layers


def _recorder(outputs: list[tuple[Tensor, ...]]) -> Callable[..., None]:
    """Return a forward hook that adds what a layer puts out."""
    return lambda layer, arguments, output: outputs.append(output)


def projections(network: nn.Module) -> dict[str, Projections]:
    """Return the layers that compute q, k, v of a network on speech, by "time N", "frequency N"."""
    found: dict[str, Projections] = {}
    counts = {"time": 0, "frequency": 0}
    for along in network.modules():
        for part in along.modules() if isinstance(along, AlongAxis) else ():
            if isinstance(part, Projections):
                axis = "time" if along.axis == TIME else "frequency"
                found[f"{axis} {counts[axis]}"] = part
                counts[axis] += 1
    return found


def load_speech_network(folder: Path, device: str = "cpu") -> tuple[str, nn.Module]:
    """Return shared or hamilton, and the trained network of a run, on a device.

    Raises UsageError if it has no such attention.
    """
    network, _ = load_network(folder / "config.toml", weights_of(folder))
    config = network.config
    if not (isinstance(config, QuaternionConformerConfig) and projections(network)):
        raise UsageError(
            f"{folder}: no attention with scores in it; "
            "name a qtransformer or qtransformer-hamilton"
        )
    return config.attention, network.eval().to(device)


def untrained(folder: Path, seed: int) -> nn.Module:
    """Return the network of a run with random weights."""
    torch.manual_seed(seed)
    return network_of(folder / "config.toml").eval()
