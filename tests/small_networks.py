"""The smallest networks of every kind, for tests of networks and of their export."""

from typing import Any

import torch
from tensors import as_trained
from torch import nn

from qse.networks import Network, build_network
from qse.networks.streaming import StreamingConfig, StreamingEnhancer

STREAMING: dict[str, Any] = {
    "n_fft": 64, "hop_length": 32, "ranges": ((32, 2),), "channels": (2, 2, 4), "growth": 2,
    "dilations": (1, 2), "blocks": 1, "heads": 2, "window": 5,
}  # fmt: skip
OFFLINE: dict[str, Any] = {
    "n_fft": 32, "hop_length": 8, "encoder": (1, 2), "decoder": (2, 1), "layers": 1, "kernel": 5,
}  # fmt: skip
PARAMS = {  # of the paper's models, Tables 2 and 3, in millions
    "qconformer": 0.80,
    "qconformer-hamilton": 0.80,
    "qtransformer": 0.62,
    "qtransformer-hamilton": 0.62,
    "qdensenet": 0.74,
    "qtn": 0.63,
    "conformer": 3.19,
}


def streaming(**changes) -> StreamingEnhancer:
    """Return a streaming network in eval mode, with biases, gains, statistics and a head as after
    some training."""
    return as_trained(StreamingEnhancer(StreamingConfig(**{**STREAMING, **changes})))


def offline(name: str) -> Network:
    """Return a fresh network of the paper's architecture `name`, in miniature."""
    torch.manual_seed(0)
    return build_network({"network": name, "channels": 8 if name == "conformer" else 4, **OFFLINE})


def unsettle(network: nn.Module) -> nn.Module:
    """Give batch norms, gains, biases and slopes values that are not those of a fresh network."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
    for parameter in network.parameters():
        if parameter.ndim < 3:
            nn.init.normal_(parameter, 0.5, 0.3)
    return network
