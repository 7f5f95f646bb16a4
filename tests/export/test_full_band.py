"""Two graphs of one set of weights: a network for 48 kHz is exported for 16 kHz too."""

import pytest

torch = pytest.importorskip("torch")

from qse.export.graphs import at_its_rates
from qse.export.streaming import disagreement, export_stream
from qse.networks.streaming import StreamingConfig, StreamingEnhancer
from qse.runtime.engine import Engine

SIZES = {"channels": (2, 2, 4), "growth": 2, "dilations": (1, 2), "blocks": 1, "heads": 2}
FULL = {
    "sample_rate": 48000,
    "n_fft": 192,
    "hop_length": 72,
    "overlap": 48,
    "ranges": ((16, 2), (16, 4), (64, 4)),
}


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    network = StreamingEnhancer(StreamingConfig(**SIZES, **FULL))
    for parameter in network.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return network.eval()


def test_at_its_rates_of_a_full_band_network(network):
    parts = at_its_rates(network)
    assert {name: part.config.sample_rate for name, part in parts.items()} == {
        "model.onnx": 16000,
        "model-48k.onnx": 48000,
    }
    assert parts["model-48k.onnx"] is network


def test_at_its_rates_of_a_wide_band_network(network):
    narrow = network.at(16000)
    assert at_its_rates(narrow) == {"model.onnx": narrow}


@pytest.mark.parametrize("sample_rate", [16000, 48000])
def test_graph_agrees_with_the_network_at_its_rate(network, tmp_path, sample_rate):
    part = network.at(sample_rate)
    export_stream(part, tmp_path / "model.onnx", name="m", version="1")
    engine = Engine(tmp_path / "model.onnx")
    assert (engine.sample_rate, engine.hop_length) == (sample_rate, sample_rate * 72 // 48000)
    assert disagreement(part, tmp_path / "model.onnx", seconds=3) < 1e-5
    part.features.gain *= 1.1  # a graph without the gain of its rate would not agree
    assert disagreement(part, tmp_path / "model.onnx", seconds=3) > 1e-5
    part.features.gain /= 1.1
