"""Export a streaming network to model.onnx.

The graph is one wave step: `audio` (1, hop_length) in, `enhanced` (1, hop_length) out, beside them
every tensor of the state, `state.<path>` in and `next.<path>` out in the same order. The path names
the layer in the module tree. Sample rate, hop, latency, name, version and licence are metadata.

A graph may take several hops of the network at once: its own hop is then as many times longer, and
delay lines and small operators cost less per second of audio. For recordings the longer hop costs
nothing. A graph holds one grid of frames: where the model is the mean of two (`TwoGrids`), the
runtime runs it twice, `second_grid` samples apart.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import QseError
from ..networks import Network, TwoGrids
from ..nn.contract import LawBroken, verify_briefly
from ..nn.state import flatten_state, initial_state, unflatten_state
from ..runtime.engine import SECOND_GRID, Engine
from .graph_file import metadata_of, publish, speech_like, to_onnx
from .lowering import lower

TOLERANCE = 1e-5


class WaveStep(nn.Module):
    """Call a streaming network with flat inputs and outputs: audio and states in, enhanced audio
    and states out."""

    def __init__(self, network: nn.Module, names: list[str]):
        super().__init__()
        self.network = network
        self.names = names

    def forward(self, audio: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        enhanced, after = self.network(
            audio, unflatten_state(dict(zip(self.names, state, strict=True)))
        )
        return enhanced, *flatten_state(after).values()


def export_stream(
    network: Network,
    path: Path,
    *,
    name: str,
    version: str,
    licence: str = "Apache-2.0",
    hops: int = 1,
) -> None:
    """Write the wave-step graph of `network` to `path`, replacing a file that is there.

    hops: hops of the network in one step of the graph. `TwoGrids` are written as the graph of one
    grid, which the runtime runs twice.
    Raises QseError, and leaves `path` as it was, for a network that cannot stream or breaks a law
    of streaming, and when ONNX Runtime and torch differ by more than TOLERANCE.
    """
    if not network.streams:
        raise QseError(
            f"{path}: not written, {type(network).__name__} needs whole recordings and cannot "
            "stream"
        )
    metadata: dict[str, object] = {}
    if isinstance(network, TwoGrids):
        metadata[SECOND_GRID] = network.config.hop_length
        network = network.network
    try:
        verify_briefly(network, network.config.hop_length)
    except LawBroken as error:
        raise QseError(f"{path}: not written, {error}") from error
    metadata.update(metadata_of(network, name, version, licence))
    metadata["hop_length"] = hops * network.config.hop_length
    metadata["latency"] = network.latency
    publish(
        path,
        lambda beside: _write(network, beside, hops),
        metadata,
        lambda beside: disagreement(network, beside),
        TOLERANCE,
    )


@torch.no_grad()
def _write(network: Network, path: Path, hops: int) -> None:
    """Write the graph of the lowered network, without metadata."""
    import onnx

    from .simplify import simplify

    lowered = lower(network)
    audio = torch.zeros(1, hops * network.config.hop_length)
    state = flatten_state(initial_state(lowered(audio)[1]))
    to_onnx(
        WaveStep(lowered, list(state)).eval(),
        (audio, *state.values()),
        path,
        input_names=["audio", *(f"state.{key}" for key in state)],
        output_names=["enhanced", *(f"next.{key}" for key in state)],
    )
    onnx.save(simplify(onnx.load(path)), path)


@torch.no_grad()
def disagreement(network: Network, path: Path, seconds: float = 10.0) -> float:
    """Return the largest difference of the outputs of the graph, hop by hop, and of the network on
    one grid; nan if not finite.

    The input is noisy speech-like audio: once with a second of digital silence at the beginning and
    another in the middle, and once, for a fifth of the time, sounding from the beginning, where a
    wrong initial state shows.
    """
    engine = Engine(path)
    rate = network.config.sample_rate
    hop_length = engine.graph_hop_length
    sounding = speech_like(round(seconds * rate) // hop_length * hop_length, rate)
    pausing = sounding.copy()
    middle = len(pausing) // 2
    pausing[:rate] = 0
    pausing[middle : middle + rate] = 0
    beginning = sounding[: -(-len(sounding) // (5 * hop_length)) * hop_length]
    network.eval()
    later = _largest_difference(network, engine, pausing)
    return float(np.maximum(later, _largest_difference(network, engine, beginning)))


def _largest_difference(network: Network, engine: Engine, noisy: np.ndarray) -> np.float32:
    expected = network(torch.from_numpy(noisy)[None])[0][0].numpy()
    state = engine.initial_state()
    worst = np.float32(0)
    hops = noisy.reshape(-1, engine.graph_hop_length)
    for hop, wanted in zip(hops, expected.reshape(hops.shape), strict=True):
        enhanced, state = engine.step(hop, state)
        worst = np.maximum(worst, np.abs(enhanced - wanted).max())  # keeps nan
    return worst
