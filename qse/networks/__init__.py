"""Networks by name: the registry of architectures, building from a table.

StreamingEnhancer   the product; StreamingConfig holds its sizes
StreamingNetwork    base of networks of one's own that enhance hop by hop; Network: of others
TwoGrids            mean of the outputs of a streaming network on two grids of frames
build_network       network of a `[model]` table; network_name: the name under which it is found
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Literal, TypedDict

from .. import laboratory
from ..config import build
from ..errors import QseError
from ..references import find_named, reference_to
from .bottleneck import DualPathBlock
from .network import Network, StreamingNetwork
from .streaming import StreamingConfig, StreamingEnhancer
from .two_grids import TwoGrids

__all__ = [
    "NETWORKS",
    "DualPathBlock",
    "ModelTable",
    "Network",
    "StreamingConfig",
    "StreamingEnhancer",
    "StreamingNetwork",
    "TwoGrids",
    "build_network",
    "network_name",
]

NetworkName = Literal[
    "streaming",
    "qconformer",
    "qconformer-hamilton",
    "qtransformer",
    "qtransformer-hamilton",
    "qtn",
    "qdensenet",
    "conformer",
]
NETWORKS = {"streaming": reference_to(StreamingEnhancer), **laboratory.NETWORKS}


class ModelTable(TypedDict):
    """The `[model]` table of a recipe: the name of a network; beside it stand the keys of its
    config."""

    network: NetworkName | str


def build_network(model: ModelTable | Mapping[str, Any]) -> Network:
    """Build the network of a `[model]` table: `network` names the architecture, the other keys are
    its config.

    A name is one of NETWORKS, or "package.module:Class" of a `Network` that declares its
    `config_type`.
    Raises QseError for an unknown network or key, and for sizes that do not fit together.
    """
    if not isinstance(model, Mapping):
        raise QseError(
            f"model = {model!r}: expected a table, with network and the keys of its config"
        )
    values = dict(model)
    name = values.pop("network", None)
    network = _architecture(name)
    try:
        return network(build(network.config_type, values, f"network {name}: "))
    except ValueError as error:
        raise QseError(f"network {name}: {error}") from error


def network_name(network: Network) -> str:
    """Return the name by which `build_network` finds the architecture of a network again."""
    reference = reference_to(type(network))
    for name, known in NETWORKS.items():
        if known == reference:
            return name
    return reference


def _architecture(name: Any) -> Any:
    """Return the class of a network by its name.

    Raises QseError for one that is unknown, or no network.
    """
    try:
        found = find_named(name, NETWORKS, "network")
    except ValueError as error:
        raise QseError(str(error)) from error
    if not (isinstance(found, type) and issubclass(found, Network)):
        raise QseError(f"network {name}: derive it from qse.networks.StreamingNetwork")
    if not is_dataclass(found.config_type):
        raise QseError(
            f"network {name}: set config_type to the frozen dataclass that it is built from"
        )
    return found
