"""Graphs of networks that look ahead, one or several hops per step."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from small_networks import streaming

import qse
from qse.export.streaming import export_stream

LOOK_AHEAD = {"blocks": 2, "look_ahead": 4, "look_ahead_blocks": (0, 1)}


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    network = streaming(**LOOK_AHEAD)
    for layer in network.bottleneck.blocks.values():
        if layer.look_ahead:
            torch.nn.init.normal_(layer.out.weight, std=0.3)
    return network


@pytest.fixture(scope="module", params=[1, 4])
def engine(request, network, tmp_path_factory):
    path = tmp_path_factory.mktemp("ahead") / "model.onnx"
    export_stream(network, path, name="ahead", version="1", hops=request.param)
    return qse.load(path)


def test_metadata_tell_hop_and_latency(engine, network):
    assert engine.hop_length in (32, 4 * 32)
    assert engine.latency == network.latency == 32 + 4 * 32


@torch.no_grad()
def test_a_file_is_the_network_and_a_stream_without_latency(engine, network):
    noisy = 0.1 * np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    enhanced = qse.denoise(noisy, 16000, engine)
    expected = network.enhance(torch.from_numpy(noisy)[None])[0].numpy()
    np.testing.assert_allclose(enhanced, expected, atol=1e-5)
    for blocksize in (1000, 37):
        stream = qse.Stream(engine)
        padded = np.concatenate([noisy, np.zeros(stream.latency, np.float32)])
        blocks = [
            stream.process(padded[start : start + blocksize])
            for start in range(0, len(padded), blocksize)
        ]
        assert np.array_equal(np.concatenate(blocks)[stream.latency :], enhanced)
