"""Networks and their exported graphs, made once for all tests of export."""

import pytest


@pytest.fixture(scope="session")
def network():
    """A small streaming network as after some training."""
    pytest.importorskip("torch")
    import torch
    from small_networks import streaming

    torch.manual_seed(0)
    return streaming()


@pytest.fixture(scope="session")
def exported(network, tmp_path_factory):
    """The graph of `network`."""
    from qse.export.streaming import export_stream

    path = tmp_path_factory.mktemp("exported") / "model.onnx"
    export_stream(network, path, name="tiny", version="1.2", licence="CC0-1.0")
    return path


@pytest.fixture(scope="session")
def offline_network():
    """A small offline network whose mask does something."""
    pytest.importorskip("torch")
    import torch

    from qse.networks import build_network

    torch.manual_seed(0)
    sizes = {
        "n_fft": 64,
        "hop_length": 32,
        "encoder": (1,),
        "decoder": (2,),
        "layers": 1,
        "kernel": 3,
    }
    network = build_network({"network": "qtransformer", "channels": 2, "heads": 2, **sizes})
    torch.nn.init.normal_(network.core.decoder.out[-1].weight, std=0.5)
    return network.eval()


@pytest.fixture(scope="session")
def offline_exported(offline_network, tmp_path_factory):
    """The graph of `offline_network`."""
    from qse.export.offline import export_offline

    path = tmp_path_factory.mktemp("offline") / "model.onnx"
    export_offline(offline_network, path, name="tiny", version="1.2")
    return path
