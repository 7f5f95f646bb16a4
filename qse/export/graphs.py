"""Write the graphs of a model: what each of them computes, at its sample rate."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..model_folder import FULL_BAND_GRAPH, GRAPH, TALKER_GRAPH
from ..networks import Network, StreamingEnhancer
from ..runtime.bands import FULL_BAND
from ..runtime.zoo import WIDE_BAND
from .offline import export_offline
from .streaming import export_stream
from .talker import export_talker


@dataclass(frozen=True)
class GraphForm:
    """hops: hops of the network that the graphs of a streaming network take at once. two_grids:
    average the outputs on two grids of frames (`TwoGrids`); with one hop, the model's hop is then
    half as long. many_streams: also write the graph for many streams in one call."""

    hops: int = 1
    two_grids: bool = False
    many_streams: bool = False


def write_graphs(
    parts: Mapping[str, Network], folder: Path, about: Mapping[str, str], hops: int
) -> None:
    """Write the graphs of a release; of a network that keeps one talker also that of talkers."""
    for file, part in parts.items():
        if part.streams:
            export_stream(part, folder / file, **about, hops=hops)
        else:
            export_offline(part, folder / file, **about)
    lower = parts[GRAPH]
    if isinstance(lower, StreamingEnhancer) and lower.config.talker:
        export_talker(lower, folder / TALKER_GRAPH, **about)


def at_its_rates(network: Network) -> dict[str, Network]:
    """Return what each graph of a release computes, by the file name of the graph."""
    if not network.streams or network.config.sample_rate != FULL_BAND:
        return {GRAPH: network}
    try:
        return {GRAPH: network.at(WIDE_BAND).eval(), FULL_BAND_GRAPH: network}
    except ValueError:  # a network of one's own for one rate
        return {GRAPH: network}
