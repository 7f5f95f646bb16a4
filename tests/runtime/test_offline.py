"""Offline models: one halving graph made by hand, in segments against all at once."""

import pickle

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper

from qse import QseError, denoise
from qse.runtime.offline import OfflineModel, Segments
from qse.runtime.zoo import streaming

HOP = 16
RATE = 1000


def save(path, audio: str):
    """Write a graph that halves its input, which is called `audio`."""
    shape = [1, "samples"]
    graph = helper.make_graph(
        [helper.make_node("Mul", [audio, "gain"], ["enhanced"])],
        "half",
        [helper.make_tensor_value_info(audio, TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("enhanced", TensorProto.FLOAT, shape)],
        [helper.make_tensor("gain", TensorProto.FLOAT, [], [0.5])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    properties = {"name": "half", "version": "1", "sample_rate": RATE, "hop_length": HOP}
    helper.set_model_props(model, {key: str(value) for key, value in properties.items()})
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    return OfflineModel(save(tmp_path_factory.mktemp("half") / "half.onnx", "audio"))


def noise(samples: int) -> np.ndarray:
    return (0.3 * np.random.default_rng(samples).standard_normal(samples)).astype(np.float32)


def pieces(audio: np.ndarray, seed: int) -> list[np.ndarray]:
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(audio) + 1, 5))
    return np.split(audio, cuts)


def test_offline_model_can_be_pickled(half):
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(half)).enhance(noise(500)), half.enhance(noise(500))
    )


@pytest.mark.parametrize("samples", [1, 700, 1600, 1601, 5003])
def test_segments_equal_all_at_once(half, samples):
    audio = noise(samples)
    segments = Segments(half, frames=100, overlap=12)
    out = [*(segments.process(piece) for piece in pieces(audio, samples)), segments.finish()]
    np.testing.assert_allclose(np.concatenate(out), 0.5 * audio, atol=1e-6)


def test_denoise_offline_attenuation_limit(half):
    audio = noise(5003)
    for strength, gain in ((None, 0.5), (20.0, 0.55), (0.0, 1.0)):
        np.testing.assert_allclose(
            denoise(audio, half.sample_rate, half, strength), gain * audio, atol=1e-6
        )


def test_segments_cross_fade(half, monkeypatch):
    """The n-th segment returns n: plateaus with straight lines between them."""
    lengths = []

    def count(segment):
        lengths.append(len(segment))
        return np.full(len(segment), len(lengths), np.float32)

    monkeypatch.setattr(half, "enhance", count)
    segments = Segments(half, frames=100, overlap=25)
    out = np.concatenate([segments.process(noise(4000)), segments.finish()])
    assert lengths == [1600, 1600, 1600]  # starts 0, 1200, 2400: never more than a segment at once
    assert (out[:1200] == 1).all() and (out[1600:2400] == 2).all() and (out[2800:] == 3).all()
    np.testing.assert_allclose(np.diff(out[1200:1600]), 1 / 400, atol=1e-6)


def test_offline_model_does_not_stream(half):
    with pytest.raises(QseError, match="half needs whole recordings and cannot stream"):
        streaming(half)


def test_segments_refuse_an_overlap_that_does_not_fit(half):
    with pytest.raises(ValueError, match="overlap"):
        Segments(half, frames=50, overlap=30)


def test_offline_model_refuses_streaming_graphs(models):
    with pytest.raises(QseError, match="not a model written"):
        OfflineModel(models / "live-base" / "model.onnx")


def test_offline_model_refuses_graphs_with_the_stft_outside(tmp_path):
    with pytest.raises(QseError, match=r"STFT outside the graph.*export it again"):
        OfflineModel(save(tmp_path / "old.onnx", "spec"))
