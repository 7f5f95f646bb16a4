"""Write an ONNX graph to its final path: export, describe, compare with torch, publish; refuse on
disagreement."""

import logging
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..audio.atomic_write import atomic_path
from ..audio.file_mode import Source
from ..errors import QseError
from ..networks import Network


def publish(
    path: Path,
    write: Callable[[Path], None],
    metadata: Mapping[str, object],
    difference: Callable[[Path], float],
    tolerance: float,
    source: Source | None = None,
) -> None:
    """Write a graph beside `path` with `write`, add `metadata`, and rename it to `path` if it
    agrees with torch. source: see `atomic_path`; None for a network in memory.

    Raises QseError, and leaves `path` as it was, when ONNX Runtime does not run the graph, or
    `difference` of the graph is above `tolerance`, or not a number.
    """
    with atomic_path(path, source=source) as beside:
        write(beside)
        _describe(beside, metadata)
        try:
            found = difference(beside)
        except QseError as error:
            cause = " ".join(str(error.__cause__ or error).split())
            raise QseError(
                f"{path}: not written, ONNX Runtime does not run the graph of this network: {cause}"
            ) from error
        if not found <= tolerance:
            raise QseError(
                f"{path}: not written, ONNX Runtime and torch differ by {found:.1e} (limit "
                f"{tolerance})"
            )


def metadata_of(network: Network, name: str, version: str, licence: str) -> dict[str, object]:
    """Return the metadata that the graphs of all networks have."""
    return {
        "name": name,
        "version": version,
        "licence": licence,
        "sample_rate": network.config.sample_rate,
        "hop_length": network.config.hop_length,
        "params": network.parameter_count,
    }


@torch.no_grad()
def to_onnx(module: nn.Module, inputs: tuple[Tensor, ...], path: Path, **options: Any) -> None:
    """Export `module` with torch.onnx into one file, without the exporter's log messages and
    warnings."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            torch.onnx.export(
                module, inputs, path, dynamo=True, external_data=False, verbose=False, **options
            )
    finally:
        logging.disable(disabled)


def speech_like(samples: int, sample_rate: int, seed: int = 0) -> np.ndarray:
    """Return harmonics of a gliding pitch in syllables, with noise 10 dB below: float32 (samples,),
    peak 0.5."""
    rng = np.random.default_rng(seed)
    time = np.arange(samples) / sample_rate
    pitch = 2 * np.pi * np.cumsum(140 + 40 * np.sin(2 * np.pi * 0.7 * time)) / sample_rate
    voice = np.zeros(samples)
    for k in range(1, 25):
        voice += np.sin(k * pitch) / k
    voice *= np.clip(np.sin(2 * np.pi * 3 * time), 0, None)
    noisy = voice + 0.3 * voice.std() * rng.standard_normal(samples)
    return (0.5 * noisy / np.abs(noisy).max()).astype(np.float32)


def _describe(path: Path, properties: Mapping[str, object]) -> None:
    """Write the metadata of the graph, store its quaternion weights once, and remove the exporter's
    own records."""
    import onnx

    from .compact_weights import compact

    model = compact(onnx.load(path))
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.initializer, model.graph):
        part.ClearField("metadata_props")
    onnx.helper.set_model_props(model, {key: str(value) for key, value in properties.items()})
    onnx.save(model, path)
