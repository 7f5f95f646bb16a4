"""Export what makes entries of a talker to talker.onnx, as runtime/enrolment.py runs it."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import QseError
from ..model_folder import GRAPH
from ..networks import StreamingEnhancer
from ..networks.enrolment import describe
from ..nn.recurrent import QuaternionGRU
from ..nn.talker import TalkerCode
from ..runtime.engine import Engine
from ..runtime.enrolment import enrolled
from .graph_file import metadata_of, publish, speech_like, to_onnx
from .real_form import quaternions, reals
from .streaming import TOLERANCE

SECONDS = 4.0  # of the enrolment with which the graph is tried
PARTS = ("scale", "shift")  # of an entry


class TalkerStep(nn.Module):
    """Make the entries of one talker of its mean states: (bands, numbers) of each block -> scale
    and shift of each block, as large."""

    def __init__(self, code: TalkerCode):
        super().__init__()
        self.talker = code

    def forward(self, *means: Tensor) -> list[Tensor]:
        vectors = {}
        for name, mean in zip(self.talker.entries, means, strict=True):
            vectors[name] = quaternions(mean)[None]
        entries: list[Tensor] = []
        for entry in self.talker.of(self.talker.joined(vectors), means[0].new_ones(1)).values():
            entries.extend(map(reals, entry[0].unbind()))
        return entries


def export_talker(
    network: StreamingEnhancer, path: Path, *, name: str, version: str, licence: str = "Apache-2.0"
) -> None:
    """Write the graph of the talkers of `network`, at 16 kHz, beside its graph model.onnx.

    Raises QseError, and leaves `path` as it was, for time mixers whose output is not their state,
    and when what ONNX Runtime makes of a talker differs from `describe` by more than TOLERANCE.
    """
    for _, block in network.bottleneck.adaptive():
        if not isinstance(block.time, QuaternionGRU):
            kind = type(block.time).__name__
            raise QseError(f"{path}: not written, talkers are states of a GRU, and not of {kind}")
    code = network.talker.eval()
    publish(
        path,
        lambda beside: _write(code, beside),
        metadata_of(network, name, version, licence),
        lambda beside: disagreement(network, Engine(path.parent / GRAPH), beside),
        TOLERANCE,
    )


@torch.no_grad()
def _write(code: TalkerCode, path: Path) -> None:
    """Write the graph without metadata."""
    means = []
    inputs = []
    outputs: list[str] = []
    for name, layer in code.entries.items():
        size = len(layer.get_parameter("weight")) // 2
        means.append(torch.zeros(code.bands, size // code.bands))
        inputs.append(_state(name, "time"))
        outputs.extend(_state(name, part) for part in PARTS)
    step = TalkerStep(code).eval()
    to_onnx(step, tuple(means), path, input_names=inputs, output_names=outputs)


@torch.no_grad()
def disagreement(network: StreamingEnhancer, engine: Engine, path: Path) -> float:
    """Return the largest difference of the entries of a talker by the graphs and by torch."""
    hop = engine.graph_hop_length
    audio = speech_like(round(SECONDS * engine.sample_rate) // hop * hop, engine.sample_rate)
    found = enrolled(audio, engine, path, "").voice.entries
    worst = np.float32(0)
    for name, entry in describe(network, torch.from_numpy(audio)[None]).items():
        for part, wanted in zip(PARTS, entry[0], strict=True):
            difference = found[_state(name, part)] - reals(wanted).numpy()
            worst = np.maximum(worst, np.abs(difference).max())
    return float(worst)


def _state(block: str, part: str) -> str:
    """Return the name in the graph of a part of the state of a block."""
    return f"state.bottleneck.{block}.{part}"
