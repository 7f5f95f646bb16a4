"""Export a streaming network to model-streams.onnx, one wave step of any number of streams.

The interface is that of runtime/many_streams.py. PyTorch exports the lowered network for two
streams, since simplify.py needs fixed shapes; then the shapes that operators are given leave the
axis of the streams open: the first one that is longer than one.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from ..audio.file_mode import Source, Sources
from ..errors import QseError
from ..model_folder import CONFIG, STREAMS_GRAPH, weights_of
from ..networks import Network, TwoGrids
from ..networks.weights import load_network
from ..nn.state import flatten_state, initial_state
from ..runtime.checksums import seal
from ..runtime.many_streams import ManyStreams
from ..runtime.zoo import load, streaming
from .graph_file import metadata_of, publish, speech_like, to_onnx
from .lowering import lower
from .streaming import TOLERANCE, WaveStep

if TYPE_CHECKING:
    import onnx

EXPORTED = 2  # streams: not one, whose axis would be left out
AXIS = "streams"


class ManyWaveSteps(WaveStep):
    """Call a streaming network with flat inputs and outputs: every state is (streams, numbers)."""

    def __init__(self, network: nn.Module, state: dict[str, Tensor]):
        super().__init__(network, list(state))
        self.shapes = [leaf.shape for leaf in state.values()]

    def forward(self, audio: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        shaped = []
        for leaf, shape in zip(state, self.shapes, strict=True):
            shaped.append(leaf.reshape(shape))
        enhanced, *after = super().forward(audio, *shaped)
        return enhanced, *(leaf.reshape(len(audio), -1) for leaf in after)


def export_many_streams(
    network: Network,
    path: Path,
    *,
    name: str,
    version: str,
    licence: str = "Apache-2.0",
    source: Source | None = None,
) -> None:
    """Write the graph of many streams of `network` to `path`, replacing a file that is there.

    source: a file whose permissions the graph does not exceed.

    Raises QseError, and leaves `path` as it was, for a network that cannot stream or runs on two
    grids of frames, and when ONNX Runtime and torch differ by more than TOLERANCE.
    """
    if not network.streams or isinstance(network, TwoGrids):
        reason = "a graph of many streams needs a network that streams, on one grid of frames"
        raise QseError(f"{path}: not written, {reason}")
    metadata = metadata_of(network, name, version, licence)
    metadata["latency"] = network.latency
    publish(
        path,
        lambda beside: _write(network, beside),
        metadata,
        lambda beside: disagreement(network, beside),
        TOLERANCE,
        source,
    )


def add_many_streams(folder: Path, licence: str = "Apache-2.0") -> None:
    """Write the graph of many streams into a model folder, for the lower rate of its network, and
    its checksum.

    Raises QseError as `export_many_streams` does, and for a folder without weights.
    """
    path = weights_of(folder)
    with Sources([folder / CONFIG, path]) as origin:
        network = load_network(folder / CONFIG, path)[0]
    engine = streaming(load(folder))
    if engine.second_grid:
        raise QseError(f"{folder}: runs on two grids of frames, and a graph of many streams on one")
    about = {"name": engine.name, "version": engine.version, "licence": licence}
    lower = network.at(engine.sample_rate)
    export_many_streams(lower, folder / STREAMS_GRAPH, **about, source=origin)
    seal(folder)


@torch.no_grad()
def _write(network: Network, path: Path) -> None:
    import onnx

    from .simplify import simplify

    lowered = lower(network)
    audio = torch.zeros(EXPORTED, network.config.hop_length)
    state = flatten_state(initial_state(lowered(audio)[1]))
    flat = [leaf.reshape(EXPORTED, -1) for leaf in state.values()]
    to_onnx(
        ManyWaveSteps(lowered, state).eval(),
        (audio, *flat),
        path,
        input_names=["audio", *(f"state.{key}" for key in state)],
        output_names=["enhanced", *(f"next.{key}" for key in state)],
    )
    onnx.save(_opened(simplify(onnx.load(path))), path)


def _opened(model: "onnx.ModelProto") -> "onnx.ModelProto":
    """Leave the number of streams open, in place, and return the model."""
    import onnx
    from onnx import numpy_helper

    graph = model.graph
    constants = {weight.name: numpy_helper.to_array(weight) for weight in graph.initializer}
    for info in (*graph.input, *graph.output):
        info.type.tensor_type.shape.dim[0].dim_param = AXIS
    for node in graph.node:
        if node.op_type != "Reshape" or node.input[0] in constants:
            continue
        shape = constants[node.input[1]].copy()
        shape[np.flatnonzero(shape != 1)[0]] = -1  # no axis in front of that of the streams
        name = f"{node.input[1]}.open"
        if name not in constants:
            constants[name] = shape
            graph.initializer.append(numpy_helper.from_array(shape, name))
        node.input[1] = name
    used = {name for node in graph.node for name in node.input}
    kept = [weight for weight in graph.initializer if weight.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    onnx.checker.check_model(model, full_check=True)
    return model


@torch.no_grad()
def disagreement(network: Network, path: Path, seconds: float = 2.0) -> float:
    """Return the largest difference of the outputs of the graph and of the network, of three
    streams of which one leaves in the middle; nan if not finite."""
    graph = ManyStreams(path)
    rate = network.config.sample_rate
    hop = graph.hop_length
    count = round(seconds * rate) // hop
    noisy = np.stack([speech_like(count * hop, rate, seed) for seed in range(3)])
    wanted = network.eval()(torch.from_numpy(noisy))[0].numpy()
    zeros = graph.initial_state()
    states = {name: np.repeat(zero, len(noisy), axis=0) for name, zero in zeros.items()}
    worst = np.float32(0)
    for place in range(count):
        if place == count // 2:
            noisy = noisy[1:]
            wanted = wanted[1:]
            states = {name: state[1:] for name, state in states.items()}
        part = slice(place * hop, (place + 1) * hop)
        enhanced, states = graph.step(noisy[:, part], states)
        worst = np.maximum(worst, np.abs(enhanced - wanted[:, part]).max())  # keeps nan
    return float(worst)
