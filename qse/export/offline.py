"""From an offline network to an ONNX graph of its core: spec in, spec out, with a free number of frames.

The STFT stays outside the graph; `qse.runtime.offline` computes it.
"""

import copy
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import QseError
from ..networks import enhance
from ..networks.dilated_densenet import NormedConv
from ..networks.offline import Offline
from ..nn.conv import QuaternionConv2d
from ..nn.linear import QuaternionLinear
from ..nn.quaternion import real_matrix
from ..runtime.offline import OfflineModel
from .streaming import publish, speech_like, to_onnx

TOLERANCE = 1e-4


def export_offline(network: nn.Module, path: Path, *, name: str, version: str, licence: str = "Apache-2.0") -> None:
    """Writes the graph of `network` to `path`, which must not be older work worth keeping.

    Raises QseError, and leaves `path` as it was, for a network that is not offline, and when ONNX Runtime and torch
    differ by more than TOLERANCE in the waveform, at two lengths.
    """
    if not isinstance(network, Offline):
        raise QseError(f"{path}: not written, {type(network).__name__} is a streaming network; export it as one")
    config = network.config
    publish(
        path,
        lambda beside: _write(network, beside),
        {
            "name": name,
            "version": version,
            "licence": licence,
            "sample_rate": config.sample_rate,
            "n_fft": config.n_fft,
            "hop_length": config.hop_length,
            "params": sum(parameter.numel() for parameter in network.parameters()),
        },
        lambda beside: float(np.max([disagreement(network, beside, seconds) for seconds in (0.3, 1.1)])),  # or NaN
        TOLERANCE,
    )


class Constant(nn.Module):
    """A quaternion weight that has become its real matrix."""

    matrix: Tensor

    def __init__(self, weight: Tensor):
        super().__init__()
        self.register_buffer("matrix", real_matrix(weight))

    def forward(self) -> Tensor:
        return self.matrix


def expanded(network: Offline) -> Offline:
    """A copy in eval mode whose quaternion weights are real matrices, by the same `forward` lines."""
    network = copy.deepcopy(network).eval()
    for module in network.modules():
        if isinstance(module, QuaternionLinear | QuaternionConv2d | NormedConv):
            weight = module.weight
            del module.weight
            module.add_module("weight", Constant(weight))
    return network


def _write(network: Offline, path: Path) -> None:
    """The graph, without metadata."""
    to_onnx(
        expanded(network).core,
        (torch.zeros(1, 2, 16, network.config.n_fft // 2 + 1),),
        path,
        input_names=["spec"],
        output_names=["enhanced"],
        dynamic_shapes=({2: torch.export.Dim("frames", min=2)},),
    )


@torch.no_grad()
def disagreement(network: Offline, path: Path, seconds: float) -> float:
    """The largest difference between the graph and the network in the waveform, on noisy speech-like audio; or nan."""
    rate = network.config.sample_rate
    noisy = speech_like(round(seconds * rate), rate)
    expected = enhance(network.eval(), torch.from_numpy(noisy)[None])[0].numpy()
    return float(np.abs(OfflineModel(path).enhance(noisy) - expected).max())
