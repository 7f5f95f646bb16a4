"""From a trained network to model.onnx.

The graph is one wave step: `audio` (1, hop_length) in, `enhanced` (1, hop_length) out, beside them every tensor of the
state, `state.<path>` in and `next.<path>` out, in one order. What a runtime must know stands in its metadata.
"""

import logging
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..audio.atomic_write import whole
from ..errors import QseError
from ..networks.streaming import StreamingEnhancer
from ..nn.state import flatten_state, unflatten_state
from .lowering import fold

TOLERANCE = 1e-5


class WaveStep(nn.Module):
    """A streaming network as ONNX sees it: tensors in, tensors out."""

    def __init__(self, network: nn.Module, names: list[str]):
        super().__init__()
        self.network, self.names = network, names

    def forward(self, audio: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        enhanced, after = self.network(audio, unflatten_state(dict(zip(self.names, state, strict=True))))
        return enhanced, *flatten_state(after).values()


def export_stream(network: nn.Module, path: Path, *, name: str, version: str, licence: str = "Apache-2.0") -> None:
    """Writes the wave-step graph of `network` to `path`, which must not be older work worth keeping.

    Raises QseError, and leaves `path` as it was, for a network that cannot stream, and when ONNX Runtime and torch
    differ by more than TOLERANCE.
    """
    if not isinstance(network, StreamingEnhancer):
        raise QseError(f"{path}: not written, {type(network).__name__} needs whole recordings and cannot stream")
    publish(
        path,
        lambda beside: _write(network, beside),
        {
            "name": name,
            "version": version,
            "licence": licence,
            "sample_rate": network.config.sample_rate,
            "hop_length": network.config.hop_length,
            "latency": network.latency,
            "params": sum(parameter.numel() for parameter in network.parameters()),
        },
        lambda beside: disagreement(network, beside),
        TOLERANCE,
    )


def publish(
    path: Path,
    write: Callable[[Path], None],
    metadata: Mapping[str, object],
    difference: Callable[[Path], float],
    tolerance: float,
) -> None:
    """Lets `write` make a graph beside `path`, describes it, and puts it there if it is as good as the network.

    Raises QseError, and leaves `path` as it was, when `difference` of the graph is above `tolerance`, or no number.
    """
    with whole(path) as beside:
        write(beside)
        _describe(beside, metadata)
        found = difference(beside)
        if not found <= tolerance:
            raise QseError(f"{path}: not written, ONNX Runtime and torch differ by {found:.1e} (limit {tolerance})")


@torch.no_grad()
def to_onnx(module: nn.Module, inputs: tuple[Tensor, ...], path: Path, **names: Any) -> None:
    """torch's own export into one file, without its remarks on its insides and on packages that nobody needs here."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            torch.onnx.export(module, inputs, path, dynamo=True, external_data=False, verbose=False, **names)
    finally:
        log.setLevel(level)


@torch.no_grad()
def _write(network: StreamingEnhancer, path: Path) -> None:
    """The graph of the folded network, without metadata."""
    import onnx

    from .simplify import simplify

    folded = fold(network)
    audio = torch.zeros(1, network.config.hop_length)
    state = {key: torch.zeros_like(leaf) for key, leaf in flatten_state(folded(audio)[1]).items()}
    to_onnx(
        WaveStep(folded, list(state)).eval(),
        (audio, *state.values()),
        path,
        input_names=["audio", *(f"state.{key}" for key in state)],
        output_names=["enhanced", *(f"next.{key}" for key in state)],
    )
    onnx.save(simplify(onnx.load(path)), path)


@torch.no_grad()
def disagreement(network: StreamingEnhancer, path: Path, seconds: float = 10.0) -> float:
    """The largest difference between the graph, hop by hop, and the network, all at once, on noisy speech-like audio.

    It begins with a second of digital silence and has another in the middle. nan where either is not finite.
    """
    from ..runtime.engine import Engine

    engine, rate = Engine(path), network.config.sample_rate
    noisy = speech_like(round(seconds * rate) // engine.hop_length * engine.hop_length, rate)
    noisy[:rate] = noisy[len(noisy) // 2 : len(noisy) // 2 + rate] = 0
    expected = network.eval()(torch.from_numpy(noisy)[None])[0][0].numpy()
    state, worst = engine.initial_state(), np.float32(0)
    for hop, wanted in zip(*(audio.reshape(-1, engine.hop_length) for audio in (noisy, expected)), strict=True):
        enhanced, state = engine.step(hop, state)
        worst = np.maximum(worst, np.abs(enhanced - wanted).max())  # keeps nan
    return float(worst)


def speech_like(samples: int, sample_rate: int, seed: int = 0) -> np.ndarray:
    """Harmonics of a gliding pitch in syllables, with noise 10 dB below: float32 (samples,), peak 0.5."""
    rng = np.random.default_rng(seed)
    time = np.arange(samples) / sample_rate
    pitch = 2 * np.pi * np.cumsum(140 + 40 * np.sin(2 * np.pi * 0.7 * time)) / sample_rate
    voice = sum(np.sin(k * pitch) / k for k in range(1, 25)) * np.clip(np.sin(2 * np.pi * 3 * time), 0, None)
    noisy = voice + 0.3 * voice.std() * rng.standard_normal(samples)
    return (0.5 * noisy / np.abs(noisy).max()).astype(np.float32)


def _describe(path: Path, properties: Mapping[str, object]) -> None:
    """Writes the metadata of the graph, and takes out what the exporter tells of the machine that it ran on."""
    import onnx

    model = onnx.load(path)
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.initializer, model.graph):
        part.ClearField("metadata_props")
    onnx.helper.set_model_props(model, {key: str(value) for key, value in properties.items()})
    onnx.save(model, path)
