"""The export to a file, and the audio that graphs are compared on."""

import logging

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import onnx
from onnx import TensorProto, helper

from qse.errors import QseError
from qse.export.graph_file import publish, speech_like, to_onnx
from qse.runtime.offline import OfflineModel


def test_speech_like_is_reproducible_and_within_full_scale():
    audio = speech_like(16000, 16000)
    assert (
        audio.dtype == np.float32
        and audio.shape == (16000,)
        and np.abs(audio).max() == pytest.approx(0.5)
    )
    assert np.array_equal(audio, speech_like(16000, 16000))
    assert not np.array_equal(audio, speech_like(16000, 16000, seed=1))


class TwoProducts(torch.nn.Module):
    """Split a weight in two, which the exporter remarks upon."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 8))

    def forward(self, x):
        left, right = self.weight.chunk(2, 1)
        return x @ left + x @ right


def test_export_prints_nothing(tmp_path, capfd, caplog):
    to_onnx(TwoProducts().eval(), (torch.randn(2, 4),), tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx").is_file()
    shown = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert capfd.readouterr() == ("", "") and shown == []


def test_publish_says_what_onnx_runtime_refuses(tmp_path):
    """A graph that it does not run is not a damaged download."""
    node = helper.make_node("Relu", ["audio"], ["enhanced"])
    kind = TensorProto.INT8  # which its Relu of this version does not take
    ends = [helper.make_tensor_value_info(name, kind, [1, "n"]) for name in ("audio", "enhanced")]
    graph = helper.make_graph([node], "refused", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 13)]

    def write(path):
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)

    path = tmp_path / "model.onnx"
    with pytest.raises(
        QseError, match="not written, ONNX Runtime does not run the graph of this n"
    ):
        publish(path, write, {}, lambda beside: OfflineModel(beside), 1e-4)
    assert not path.exists()
