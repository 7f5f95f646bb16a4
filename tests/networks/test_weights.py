"""Reading weights: prefixes, averaged weights, a network with weights that fit or do not."""

import pytest

torch = pytest.importorskip("torch")

import small_networks
import tomli_w
from safetensors.torch import save_file

from qse.errors import QseError
from qse.networks.weights import averaged, load_header, load_network, load_tensors, pick


@pytest.fixture
def model(tmp_path):
    """The configuration and the weights of a small network, with a header."""
    config = tmp_path / "config.toml"
    weights = tmp_path / "weights.safetensors"
    network = small_networks.streaming()
    config.write_text(
        tomli_w.dumps({"model": {"network": "streaming", **small_networks.STREAMING}})
    )
    save_file(network.state_dict(), weights, {"step": "7"})
    return network, config, weights


def test_pick_removes_the_prefix():
    tensors = {"average.a": torch.zeros(1), "average.b.c": torch.ones(1), "averages": torch.ones(2)}
    assert pick(tensors, "average") == {"a": tensors["average.a"], "b.c": tensors["average.b.c"]}


def test_averaged_returns_all_weights_of_a_model():
    plain = {"a": torch.zeros(1)}
    assert (
        averaged(plain) is plain
        and averaged({"average.a": plain["a"], "a": torch.ones(1)}) == plain
    )


def test_load_network_gives_weights_and_header(model):
    network, config, weights = model
    loaded, header = load_network(config, weights)
    assert (
        header == load_header(weights) == load_tensors(weights)[1] == {"step": "7"}
        and not loaded.training
    )
    expected = network.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in loaded.state_dict().items())


def test_load_network_refuses_weights_of_another_model(model):
    _, config, weights = model
    config.write_text(
        tomli_w.dumps({"model": {"network": "streaming", **small_networks.STREAMING, "growth": 3}})
    )
    with pytest.raises(
        QseError, match=r"weights.safetensors.*do not fit the model in .*config.toml"
    ):
        load_network(config, weights)


def test_load_names_a_missing_file(tmp_path):
    with pytest.raises(QseError, match=r"missing.safetensors: cannot read the checkpoint"):
        load_tensors(tmp_path / "missing.safetensors")


def test_load_network_names_the_configuration_that_does_not_fit(model):
    _, config, weights = model
    config.write_text('[model]\nnetwork = "streaming"\nchannels = [2, 2]\n')
    with pytest.raises(QseError, match=r"config\.toml: network streaming: channels"):
        load_network(config, weights)
