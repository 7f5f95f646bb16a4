"""One small offline network, exported once, against torch; refusals."""

from unittest.mock import Mock

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import onnx

from qse.errors import QseError
from qse.export import offline as export
from qse.export.graph_file import speech_like
from qse.runtime.offline import OfflineModel


@pytest.mark.parametrize("seconds", [0.0001, 0.1, 1.7])
def test_export_offline_graph_equals_torch(offline_network, offline_exported, seconds):
    exported = OfflineModel(offline_exported)
    noisy = speech_like(round(16000 * seconds), 16000)
    with torch.no_grad():
        expected = offline_network.enhance(torch.from_numpy(noisy)[None])[0].numpy()
    assert np.abs(expected - noisy).max() > 1e-3
    np.testing.assert_allclose(exported.enhance(noisy), expected, rtol=0, atol=1e-4)
    assert (exported.name, exported.version, exported.sample_rate) == ("tiny", "1.2", 16000)


def test_export_offline_takes_and_gives_a_waveform(offline_exported):
    graph = onnx.load(offline_exported).graph
    assert [value.name for value in (*graph.input, *graph.output)] == ["audio", "enhanced"]
    shape = graph.input[0].type.tensor_type.shape
    assert [(dim.dim_value, dim.dim_param) for dim in shape.dim] == [(1, ""), (0, "samples")]


def test_export_offline_refuses_a_graph_that_disagrees(
    offline_network, offline_exported, monkeypatch, tmp_path
):
    monkeypatch.setattr(
        export, "_write", lambda network, path: path.write_bytes(offline_exported.read_bytes())
    )
    monkeypatch.setattr(export, "TOLERANCE", 1e-12)
    with pytest.raises(QseError, match=r"model\.onnx: not written"):
        export.export_offline(offline_network, tmp_path / "model.onnx", name="x", version="0")
    assert not list(tmp_path.iterdir())


def test_export_offline_refuses_a_graph_that_is_not_finite(
    offline_network, offline_exported, monkeypatch, tmp_path
):
    monkeypatch.setattr(
        export, "_write", lambda network, path: path.write_bytes(offline_exported.read_bytes())
    )
    for found in ([np.nan, 0.0], [0.0, np.nan]):
        monkeypatch.setattr(export, "disagreement", Mock(side_effect=found))
        with pytest.raises(QseError, match=r"model\.onnx: not written"):
            export.export_offline(offline_network, tmp_path / "model.onnx", name="x", version="0")


def test_export_offline_refuses_streaming_networks(network, tmp_path):
    with pytest.raises(QseError, match="StreamingEnhancer is a streaming network"):
        export.export_offline(network, tmp_path / "model.onnx", name="x", version="0")
