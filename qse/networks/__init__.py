"""Networks by name: the registry of architectures, building from a table, enhancement of a batch."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from ..config import build
from ..errors import QseError
from ..migration import migrated
from . import offline
from .conformer import ConformerConfig, RealOffline
from .offline import Offline, QuaternionOffline
from .streaming import StreamingConfig, StreamingEnhancer

Network = StreamingEnhancer | Offline

NETWORKS: dict[str, tuple[type, Callable[[Any], Network]]] = {
    "streaming": (StreamingConfig, StreamingEnhancer),
    "qconformer": (offline.QuaternionConformerConfig, QuaternionOffline),
    "qconformer-hamilton": (offline.QuaternionConformerHamiltonConfig, QuaternionOffline),
    "qtransformer": (offline.QuaternionTransformerConfig, QuaternionOffline),
    "qtransformer-hamilton": (offline.QuaternionTransformerHamiltonConfig, QuaternionOffline),
    "qtn": (offline.QuaternionTransformerConvolutionConfig, QuaternionOffline),
    "qdensenet": (offline.QuaternionDenseConfig, QuaternionOffline),
    "conformer": (ConformerConfig, RealOffline),
}


def build_network(model: Mapping[str, Any]) -> Network:
    """Build the network of a `[model]` table: `network` names the architecture, the other keys are its config.

    Raises QseError for an unknown network or key, and for sizes that do not fit together.
    """
    if not isinstance(model, Mapping):
        raise QseError(f"model = {model!r}: expected a table, with network and the keys of its config")
    values = migrated({"model": model})["model"]
    name = values.pop("network", None)
    if name not in NETWORKS:
        raise QseError(f"unknown network {name!r}; there are {', '.join(NETWORKS)}")
    config, network = NETWORKS[name]
    try:
        return network(build(config, values, f"network {name}: "))
    except ValueError as error:
        raise QseError(f"network {name}: {error}") from error


def enhance(network: nn.Module, noisy: Tensor) -> Tensor:
    """Enhance (B, N) -> (B, N), aligned with the input: a stream without its latency, an offline network as it is."""
    if not isinstance(network, StreamingEnhancer):
        return network(noisy)
    samples, latency = noisy.shape[1], network.latency
    silence = latency + -(samples + latency) % network.config.hop_length
    enhanced, _ = network(F.pad(noisy, (0, silence)))
    return enhanced[:, latency : latency + samples]
