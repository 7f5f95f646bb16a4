"""Time mixers and algebras of the live family: the streaming law for every word, export, and the default left alone."""

import pytest

torch = pytest.importorskip("torch")

import contract

from qse.errors import QseError
from qse.networks import build_network
from qse.networks.algebra import convert_
from qse.networks.bottleneck import DualPathBlock
from qse.networks.time_mixers import TIME_MIXERS
from qse.nn.conv import QuaternionConv2d
from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import hamilton_matrix
from qse.nn.recurrent import QuaternionGRU, gate_matrix
from qse.nn.research.cells import QuaternionLSTM

SMALL = {
    "network": "streaming", "n_fft": 64, "hop_length": 16, "ranges": [[16, 2], [16, 2]], "channels": [2, 4, 4],
    "growth": 2, "dilations": [1], "blocks": 1, "heads": 2, "window": 6,
}  # fmt: skip


def live(**words):
    torch.manual_seed(0)
    network = build_network({**SMALL, **words})
    with torch.no_grad():  # statistics and a head that do something
        for module in network.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.uniform_(-0.2, 0.2)
                module.running_var.uniform_(0.5, 2)
        network.decoder.head.weight.normal_(std=0.3)
    return network.eval()


@pytest.mark.parametrize("word", TIME_MIXERS)
def test_a_block_keeps_the_streaming_law_with_every_mixer(word):
    torch.manual_seed(0)
    contract.verify_stream(DualPathBlock(3, 4, 2, time_mixer=word, window=5), torch.randn(2, 15, 3, 4, 4), dim=1)


@pytest.mark.parametrize("words", [
    {"time_mixer": ["token"]}, {"time_mixer": ["ssm"], "algebra": "phm", "phm_n": 2},
    {"time_mixer": ["gru", "token"], "blocks": 2}, {"pruned": ["block0.feed", "block1.time"], "blocks": 2},
    {"pruned": ["block0.feed", "block0.attention"]},
])  # fmt: skip
def test_live_keeps_the_streaming_law(words):
    contract.verify_stream(live(**words), torch.randn(1, 10 * 16), dim=1, unit=16)


def test_default_is_the_quaternion_gru():
    network = build_network({"network": "streaming"})
    block = network.bottleneck.blocks["block0"]
    assert type(block.time) is QuaternionGRU and type(block.time_out.weight) is torch.nn.Parameter
    assert sum(parameter.numel() for parameter in network.parameters()) == 62_435
    assert {"bottleneck.blocks.block1.time.weight_hidden", "encoder.split.convs.0.weight"} <= set(network.state_dict())


@pytest.mark.parametrize("layer, shape, names", [
    (QuaternionLinear(3, 5), (2, 4, 3), ["weight"]),
    (QuaternionConv2d(3, 5, (2, 3)), (2, 4, 3, 7, 6), ["weight"]),
    (QuaternionGRU(3, 5), (2, 7, 4, 3), ["weight_input", "weight_hidden"]),
    (QuaternionLSTM(3, 5), (2, 7, 4, 3), ["weight_input", "weight_hidden"]),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_a_real_layer_with_the_quaternion_matrix_is_the_quaternion_layer(layer, shape, names):
    torch.manual_seed(0)
    x = torch.randn(shape)
    before, matrices = layer(x), {}
    for name in names:
        weight = getattr(layer, name).detach()
        matrices[name] = gate_matrix(weight) if len(names) == 2 else hamilton_matrix(weight)
    convert_(layer, "real")
    for name in names:
        parameter = getattr(layer, name).weight  # gates, 1, out, in
        assert parameter.numel() == matrices[name].numel()
        parameter.data.copy_(matrices[name].view(parameter.shape))
    after = layer(x)
    if isinstance(after, tuple):
        before, after = before[0], after[0]
    torch.testing.assert_close(after, before)


def test_real_has_four_times_the_weights_and_phm_about_as_many():
    def weights(**words):
        network = build_network({"network": "streaming", **words})
        return sum(parameter.numel() for name, parameter in network.named_parameters() if "weight" in name)

    assert weights(algebra="real") == pytest.approx(4 * weights(), rel=0.05)
    assert weights(algebra="phm") == pytest.approx(weights(), rel=0.05)  # n = 4


@pytest.mark.parametrize("words, answer", [
    ({"time_mixer": ["tcn"]}, "gru, rnn, lstm, attention"), ({"algebra": "octonion"}, "quaternion, real, phm"),
    ({"time_mixer": ["gru", "token", "lru"], "blocks": 2}, "one per block"),
    ({"time_mixer": ["gru", "tcn"], "blocks": 2}, "or one"),
    ({"attention": "tay"}, "shared, hamilton, none"),
    ({"algebra": "phm", "phm_n": 3}, "n = 3 does not divide"), ({"time_mixer": ["token"], "window": 0}, "window"),
])  # fmt: skip
def test_a_wrong_word_is_answered_with_the_right_ones(words, answer):
    with pytest.raises(QseError, match=answer):
        build_network({**SMALL, **words})


@pytest.mark.parametrize("words", [{"time_mixer": ["lru"], "algebra": "phm"}, {"attention": "hamilton"}])
def test_other_layers_and_algebras_export(words, tmp_path):
    """`export_stream` refuses to write a graph that differs from torch."""
    from qse.export.streaming import export_stream

    export_stream(live(**words), tmp_path / "model.onnx", name="small", version="0")
    assert (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize("algebra", ["quaternion", "real", "phm"])
def test_operations_are_counted_in_every_algebra(algebra):
    from qse.export.cost import macs_per_second

    assert macs_per_second(live(algebra=algebra)) == pytest.approx(macs_per_second(live()), rel=0.02)


def test_operations_of_an_lstm_are_counted():
    from qse.export.cost import macs_per_second

    frames, bands, channels = 1000, 4, 16  # of a second; channels are real ones
    gate = frames * bands * 2 * channels**2  # from the input and from the state
    more = macs_per_second(live(time_mixer=["lstm"])) - macs_per_second(live(time_mixer=["gru"]))
    assert more == pytest.approx(gate, rel=0.01)
