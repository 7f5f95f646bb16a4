"""Export an offline network to model.onnx: waveform in, waveform out, with a free number of
samples.

The graph maps `audio` (1, samples) to `enhanced` (1, samples), STFT and inverse STFT inside.
"""

from pathlib import Path

import numpy as np
import torch

from ..errors import QseError
from ..networks import Network
from ..runtime.offline import OfflineModel
from .graph_file import metadata_of, publish, speech_like, to_onnx
from .lowering import lower

TOLERANCE = 1e-4
COMPARED = (0.3, 1.1)  # seconds


def export_offline(
    network: Network, path: Path, *, name: str, version: str, licence: str = "Apache-2.0"
) -> None:
    """Write the graph of `network` to `path`, replacing a file that is there.

    Raises QseError, and leaves `path` as it was, for a network that is not offline, and when ONNX
    Runtime and torch differ by more than TOLERANCE in the waveform, at two lengths.
    """
    if network.streams:
        raise QseError(
            f"{path}: not written, {type(network).__name__} is a streaming network; "
            "export it as one"
        )

    def largest_disagreement(beside: Path) -> float:
        found = [disagreement(network, beside, seconds) for seconds in COMPARED]
        return float(np.max(found))  # keeps nan

    publish(
        path,
        lambda beside: _write(network, beside),
        metadata_of(network, name, version, licence),
        largest_disagreement,
        TOLERANCE,
    )


def _write(network: Network, path: Path) -> None:
    """Write the graph of the lowered network, without metadata."""
    to_onnx(
        lower(network),
        (torch.zeros(1, 16 * network.config.hop_length + 1),),
        path,
        input_names=["audio"],
        output_names=["enhanced"],
        dynamic_shapes=({1: torch.export.Dim("samples", min=2 * network.config.hop_length)},),
    )


@torch.no_grad()
def disagreement(network: Network, path: Path, seconds: float) -> float:
    """Return the largest difference between graph and network in the waveform, on noisy speech-like
    audio, or nan."""
    rate = network.config.sample_rate
    noisy = speech_like(round(seconds * rate), rate)
    expected = network.eval().enhance(torch.from_numpy(noisy)[None])[0].numpy()
    return float(np.abs(OfflineModel(path).enhance(noisy) - expected).max())
