"""Networks by name: the registry of architectures, building from a table."""

from collections.abc import Callable, Mapping
from typing import Any

from ..config import build
from ..errors import QseError
from ..migration import migrated
from . import offline
from .conformer import ConformerConfig, RealOffline
from .network import Network
from .offline import QuaternionOffline
from .streaming import StreamingConfig, StreamingEnhancer

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
