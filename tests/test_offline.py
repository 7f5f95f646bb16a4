"""Offline models without PyTorch: the STFT against torch's, segments against the whole, the export against torch."""

import pickle
from unittest.mock import Mock

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from qse import QseError, denoise
from qse.export import offline as export
from qse.export.streaming import speech_like
from qse.networks import build_network, enhance
from qse.runtime.offline import OfflineModel, Segments

N_FFT, HOP, RATE = 64, 16, 1000


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A model that halves every bin."""
    path = tmp_path_factory.mktemp("half") / "half.onnx"
    shape = [1, 2, "frames", N_FFT // 2 + 1]
    graph = helper.make_graph(
        [helper.make_node("Mul", ["spec", "gain"], ["enhanced"])],
        "half",
        [helper.make_tensor_value_info("spec", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("enhanced", TensorProto.FLOAT, shape)],
        [helper.make_tensor("gain", TensorProto.FLOAT, [], [0.5])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    properties = {"name": "half", "version": "1", "sample_rate": RATE, "n_fft": N_FFT, "hop_length": HOP}
    helper.set_model_props(model, {key: str(value) for key, value in properties.items()})
    onnx.save(model, path)
    return OfflineModel(path)


def noise(samples: int) -> np.ndarray:
    return (0.3 * np.random.default_rng(samples).standard_normal(samples)).astype(np.float32)


def pieces(audio: np.ndarray, seed: int) -> list[np.ndarray]:
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(audio) + 1, 5))
    return np.split(audio, cuts)


@pytest.mark.parametrize("samples", [1, HOP, 1003])
def test_stft_is_that_of_torch(half, samples):
    audio = noise(samples)
    spec = torch.stft(
        torch.from_numpy(audio), N_FFT, HOP, window=torch.hann_window(N_FFT), pad_mode="constant", return_complex=True
    )
    expected = torch.view_as_real(spec).permute(2, 1, 0).numpy()  # 2, T, F
    np.testing.assert_allclose(half.analysis(audio)[0], expected, atol=1e-4)
    np.testing.assert_allclose(half.synthesis(half.analysis(audio), samples), audio, atol=1e-6)


def test_a_model_goes_to_another_process(half):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(half)).enhance(noise(500)), half.enhance(noise(500)))


@pytest.mark.parametrize("samples", [1, 700, 1600, 1601, 5003])
def test_segments_join_without_a_seam(half, samples):
    audio = noise(samples)
    segments = Segments(half, frames=100, overlap=12)
    out = [*(segments.process(piece) for piece in pieces(audio, samples)), segments.finish()]
    np.testing.assert_allclose(np.concatenate(out), 0.5 * audio, atol=1e-6)


def test_strength_mixes_the_noisy_signal_back(half):
    audio = noise(5003)
    for strength, gain in ((None, 0.5), (20.0, 0.55), (0.0, 1.0)):
        np.testing.assert_allclose(denoise(audio, half.sample_rate, half, strength), gain * audio, atol=1e-6)


def test_segments_fade_into_each_other(half, monkeypatch):
    """The n-th segment answers with n: a plateau each, and straight lines between them."""
    heard = []

    def count(segment):
        heard.append(len(segment))
        return np.full(len(segment), len(heard), np.float32)

    monkeypatch.setattr(half, "enhance", count)
    segments = Segments(half, frames=100, overlap=25)
    out = np.concatenate([segments.process(noise(4000)), segments.finish()])
    assert heard == [1600, 1600, 1600]  # starts 0, 1200, 2400: never more than a segment at once
    assert (out[:1200] == 1).all() and (out[1600:2400] == 2).all() and (out[2800:] == 3).all()
    np.testing.assert_allclose(np.diff(out[1200:1600]), 1 / 400, atol=1e-6)


def test_segments_refuse_an_overlap_that_does_not_fit(half):
    with pytest.raises(ValueError, match="overlap"):
        Segments(half, frames=50, overlap=30)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    sizes = {"n_fft": 64, "hop_length": 32, "encoder": (1,), "decoder": (2,), "layers": 1, "kernel": 3}
    network = build_network({"network": "qconformer", "channels": 4, **sizes})
    torch.nn.init.normal_(network.core.decoder.out[-1].weight, std=0.5)
    return network.eval()


@pytest.fixture(scope="module")
def exported(network, tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "model.onnx"
    export.export_offline(network, path, name="tiny", version="1.2")
    return OfflineModel(path)


@pytest.mark.parametrize("seconds", [0.1, 1.7])
def test_export_computes_what_torch_computes(network, exported, seconds):
    noisy = speech_like(round(16000 * seconds), 16000)
    with torch.no_grad():
        expected = enhance(network, torch.from_numpy(noisy)[None])[0].numpy()
    assert np.abs(expected - noisy).max() > 1e-2
    np.testing.assert_allclose(exported.enhance(noisy), expected, rtol=0, atol=1e-4)
    assert (exported.name, exported.version, exported.sample_rate) == ("tiny", "1.2", 16000)


def test_a_graph_that_disagrees_is_not_written(network, exported, monkeypatch, tmp_path):
    monkeypatch.setattr(export, "_write", lambda network, path: path.write_bytes(exported.path.read_bytes()))
    monkeypatch.setattr(export, "TOLERANCE", 1e-12)
    with pytest.raises(QseError, match=r"model\.onnx: not written"):
        export.export_offline(network, tmp_path / "model.onnx", name="x", version="0")
    assert not list(tmp_path.iterdir())


def test_a_graph_that_is_no_number_at_one_length_is_not_written(network, exported, monkeypatch, tmp_path):
    monkeypatch.setattr(export, "_write", lambda network, path: path.write_bytes(exported.path.read_bytes()))
    for found in ([np.nan, 0.0], [0.0, np.nan]):
        monkeypatch.setattr(export, "disagreement", Mock(side_effect=found))
        with pytest.raises(QseError, match=r"model\.onnx: not written"):
            export.export_offline(network, tmp_path / "model.onnx", name="x", version="0")


def test_other_graphs_are_refused(models):
    with pytest.raises(QseError, match="not a model written"):
        OfflineModel(models / "live-base" / "model.onnx")
