"""Layers, time mixers and networks of one's own: they stream, train, widen and export, or are
refused by name."""

from dataclasses import asdict

import numpy as np
import pytest

from qse.nn import contract

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

import own_layers
from own_layers import Ahead, Leaky, MyLinear, Small, SmallConfig
from small_networks import STREAMING, streaming
from tensors import as_trained

from qse.errors import QseError
from qse.export.lowering import lower
from qse.export.streaming import disagreement, export_stream
from qse.networks import build_network, network_name
from qse.networks.algebra import convert_, quaternion_weights
from qse.networks.bottleneck import DualPathBlock
from qse.networks.streaming import StreamingConfig, StreamingEnhancer
from qse.nn.declared import declared_weights
from qse.nn.hypercomplex import HypercomplexWeight
from qse.nn.linear import QuaternionLinear
from qse.train.optimizers import optimizers
from qse.train.warm_start import grow
from qse.train.widen import widen


def enhancer(mixer: type, **changes) -> StreamingEnhancer:
    """Return the smallest streaming network with a time mixer of one's own."""
    return streaming(time_mixer=(f"own_layers:{mixer.__name__}",), **changes)


def exported(network, path) -> float:
    """Export a network, and return how much its graph differs from it."""
    export_stream(network, path, name="own", version="1")
    return disagreement(network, path, 1.0)


def test_own_time_mixer_streams_and_exports(tmp_path):
    network = enhancer(Leaky)
    contract.verify_stream(Leaky(3), torch.randn(2, 11, 4, 3), dim=1)
    contract.verify_stream(network, 0.3 * torch.randn(2, 352), dim=1, unit=32)
    assert exported(network, tmp_path / "model.onnx") < 1e-5


def test_own_time_mixer_starts_as_an_identity_when_a_network_grows():
    small = streaming()
    deep = StreamingEnhancer(
        StreamingConfig(**{**STREAMING, "blocks": 2, "time_mixer": ("gru", "own_layers:Leaky")})
    )
    grow(deep, small.state_dict())
    x = 0.3 * torch.randn(1, 320)
    torch.testing.assert_close(deep.eval()(x)[0], small(x)[0])


def test_own_time_mixer_with_look_ahead_adds_latency(tmp_path):
    network = enhancer(Ahead)
    assert network.look_ahead == 2 and network.latency == 32 + 2 * 32
    contract.verify_stream(network, 0.3 * torch.randn(2, 352), dim=1, unit=32)
    assert exported(network, tmp_path / "model.onnx") < 1e-5


@torch.no_grad()
def test_dual_path_block_aligns_what_runs_beside_a_mixer_that_looks_ahead():
    block = DualPathBlock(
        3, 4, 2, time_mixer="own_layers:Ahead", pruned=("attention", "feed")
    ).eval()
    torch.nn.init.zeros_(block.time_out.weight)
    x = torch.randn(1, 12, 3, 4, 4)
    y, _ = block(x)
    torch.testing.assert_close(y[:, 2:], x[:, :-2])
    contract.verify_stream(as_trained(block), x, dim=1)


def test_look_ahead_of_layers_adds_up():
    block = DualPathBlock(3, 4, 2, time_mixer="own_layers:Ahead")
    assert (Ahead(3).look_ahead, Leaky(3).look_ahead, block.look_ahead) == (2, 0, 2)
    both = enhancer(Ahead, look_ahead=4, look_ahead_blocks=(0,))
    assert both.look_ahead == 6 and both.at(16000, 0).look_ahead == 2
    assert both.at(16000, 0).latency == 32 + 2 * 32


@pytest.mark.parametrize("layer", ["subclass", "doubled", "declared"])
def test_own_layer_exports(layer, tmp_path):
    network = as_trained(Small(SmallConfig(layer=layer)))
    contract.verify_stream(network, 0.3 * torch.randn(2, 352), dim=1, unit=32)
    assert network.latency == 32
    assert exported(network, tmp_path / "model.onnx") < 1e-5


def test_own_network_is_denoised_with(tmp_path):
    import qse

    network = as_trained(Small(SmallConfig()))
    exported(network, tmp_path / "model.onnx")
    noisy = 0.1 * np.random.default_rng(0).standard_normal(3210).astype(np.float32)
    found = qse.denoise(noisy, 16000, qse.load(tmp_path / "model.onnx"))
    with torch.no_grad():
        expected = network.enhance(torch.from_numpy(noisy)[None])[0].numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_lower_refuses_a_layer_without_a_real_form_by_name():
    with pytest.raises(
        QseError,
        match=r"layer layer \(Undeclared\) has quaternion weights \(weight\) and no real form",
    ):
        lower(Small(SmallConfig(layer="undeclared")))
    inner = streaming()
    inner.bottleneck.blocks["block0"].attention = own_layers.Undeclared(4)
    with pytest.raises(
        QseError, match=r"layer bottleneck.blocks.block0.attention \(Undeclared\) has quaternion"
    ):
        lower(inner)
    with pytest.raises(
        QseError, match=r"layer layer \(Flip\) cannot be exported.*declare quaternion_axis"
    ):
        lower(Small(SmallConfig(layer="flip")))


def test_export_of_a_layer_that_is_refused_leaves_nothing(tmp_path):
    with pytest.raises(QseError, match="Undeclared"):
        exported(Small(SmallConfig(layer="undeclared")), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_subclass_of_a_layer_has_its_quaternion_weights():
    layer = MyLinear(3, 5)
    assert quaternion_weights(layer) == ([layer.weight], [])
    *_, muon = optimizers(layer, "muon", (0.9, 0.99), 0.0)
    assert muon.param_groups[0]["params"] == [layer.weight]
    convert_(layer, "real")
    assert isinstance(layer.weight, HypercomplexWeight) and layer.weight().shape == (20, 12)


def test_subclass_of_a_layer_is_widened_as_its_base():
    x = torch.randn(2, 4, 3)
    narrow = MyLinear(3, 3)
    wide = MyLinear(6, 6)
    wide.load_state_dict(widen(wide, narrow.state_dict()))
    expected = narrow(x).repeat_interleave(2, -1)
    torch.testing.assert_close(wide(x.repeat_interleave(2, -1)), expected)


def test_declared_weights_refuse_what_a_layer_lacks():
    class Wrong(QuaternionLinear):
        quaternion_weights = ("weight", "wieght")

    with pytest.raises(QseError, match=r"Wrong: its quaternion weight 'wieght' is missing"):
        list(declared_weights(Wrong(3, 3)))
    layer = own_layers.Undeclared(3)
    layer.weight = torch.nn.Parameter(torch.randn(3, 3))
    with pytest.raises(
        QseError,
        match=r"layer 0 \(Undeclared\).* shape \(3, 3\), expected \(4, out, in, \*kernel\)",
    ):
        list(declared_weights(torch.nn.Sequential(layer)))


def test_build_network_by_reference():
    network = build_network({"network": "own_layers:Small", "channels": 2})
    assert isinstance(network, Small) and network.config.channels == 2
    assert network_name(network) == "own_layers:Small"
    again = build_network({"network": network_name(network), **asdict(network.config)})
    assert again.config == network.config


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("own_layers:Nothing", "cannot be imported .*Nothing"),
        ("no_such_module:Small", "cannot be imported .*no_such_module.*PYTHONPATH"),
        ("own_layers:NoBase", "derive it from qse.networks.StreamingNetwork"),
        ("own_layers:NoConfig", "set config_type"),
        ("small", "unknown network 'small'; there are streaming.*package.module:Class"),
    ],
)
def test_build_network_refuses_references(name, sentence):
    with pytest.raises(QseError, match=sentence):
        build_network({"network": name})


def test_time_mixer_of_another_class_is_refused():
    with pytest.raises(
        QseError, match=r"time_mixer 'own_layers:NoBase': derive it from qse.nn.TimeMixer"
    ):
        build_network({"network": "streaming", "time_mixer": ["own_layers:NoBase"]})
