"""The streaming enhancer: the streaming contract, alignment, identity at the start, silence,
state."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import streaming

from qse.networks import build_network
from qse.nn import contract
from qse.nn.recurrent import QuaternionGRU
from qse.nn.state import flatten_state

VARIANTS = {
    "plain": {},
    "norm of queries and keys": {"qk_norm": True},
    "asymmetric windows": {"hop_length": 16},
    "short overlap": {"overlap": 8},
    "two ranges": {"ranges": ((16, 1), (16, 4))},
    "two blocks": {"blocks": 2},
}
each_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)


@each_variant
def test_streaming_enhancer_streams(changes):
    network = streaming(**changes)
    hop = network.config.hop_length
    contract.verify_stream(network, 0.3 * torch.randn(2, 11 * hop), dim=1, unit=hop)


@pytest.mark.parametrize(
    "changes",
    [
        {"time_mixer": ["token"]},
        {"time_mixer": ["ssm"], "algebra": "phm", "phm_n": 2},
        {"time_mixer": ["gru", "token"], "blocks": 2},
        {"pruned": ["block0.feed", "block1.time"], "blocks": 2},
        {"pruned": ["block0.feed", "block0.attention"]},
    ],
)
def test_streaming_enhancer_streams_with_options(changes):
    contract.verify_stream(streaming(**changes), torch.randn(1, 10 * 32), dim=1, unit=32)


@torch.no_grad()
def test_streaming_enhancer_streams_in_float32():
    network = streaming()
    audio = 0.3 * torch.randn(1, 40 * 32)
    state = None
    parts = []
    for hop in audio.split(32, 1):
        y, state = network(hop, state)
        parts.append(y)
    torch.testing.assert_close(torch.cat(parts, 1), network(audio)[0], rtol=0, atol=2e-6)


@each_variant
def test_streaming_enhancer_changes_its_input_moderately(changes):
    network = streaming(**changes)
    audio = 0.3 * torch.randn(2, 1280)
    y = network.enhance(audio)
    assert 0.005 < (y - audio).square().mean().sqrt() < 1


@torch.no_grad()
@pytest.mark.parametrize("samples", [1, 31, 32, 33, 500])
@pytest.mark.parametrize("hop", [16, 32])
def test_enhance_with_a_zero_head_returns_its_input(samples, hop):
    network = streaming(hop_length=hop)
    audio = 0.3 * torch.randn(2, samples)
    network.decoder.head.weight.zero_(), network.decoder.head.bias.zero_()
    found = network.enhance(audio)
    assert network.latency == hop and found.shape == audio.shape
    torch.testing.assert_close(found, audio, rtol=0, atol=2e-6)


@each_variant
def test_streaming_enhancer_silence_stays_silent(changes):
    network = streaming(**changes).train()
    y, state = network(torch.zeros(2, 320))
    (y.sum() + sum(leaf.sum() for leaf in flatten_state(state).values())).backward()
    assert y.abs().max() == 0
    assert all(torch.isfinite(leaf).all() for leaf in flatten_state(state).values())
    assert all(torch.isfinite(p.grad).all() for p in network.parameters() if p.grad is not None)


@torch.no_grad()
def test_streaming_state_is_one_tensor_per_layer():
    network = streaming()
    names = set(flatten_state(network(torch.zeros(3, 64))[1]))
    assert names == {
        "level",
        "analysis",
        "encoder.dense.layer0",
        "encoder.dense.layer1",
        "encoder.down2",
        "bottleneck.block0",
        "decoder.dense.layer0",
        "decoder.dense.layer1",
        "synthesis",
    }


def test_streaming_enhancer_trains_every_weight():
    network = streaming(qk_norm=True).train()
    network(0.3 * torch.randn(2, 320))[0].square().sum().backward()
    idle = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert not idle


def test_streaming_config_default_is_the_quaternion_gru():
    network = build_network({"network": "streaming"})
    block = network.bottleneck.blocks["block0"]
    assert type(block.time) is QuaternionGRU and type(block.time_out.weight) is torch.nn.Parameter
    assert sum(parameter.numel() for parameter in network.parameters()) == 62_435
    assert {"bottleneck.blocks.block1.time.weight_hidden", "encoder.split.convs.0.weight"} <= set(
        network.state_dict()
    )


@torch.no_grad()
def test_the_level_of_the_input_changes_nothing_inside_the_usual_range():
    """From -40 to 0 dBFS the output is bit-equal to that of a network without InputLevel."""
    network = streaming()
    hop = network.config.hop_length
    noisy = torch.rand(1, 60 * hop) * 2 - 1
    for peak in (-40, -20, 0):
        audio = noisy * 10 ** (peak / 20)
        spec, _ = network.analysis(audio)
        (x0, x1, x2), _ = network.encoder(network.features(spec))
        o, _ = network.decoder((x0, x1, network.bottleneck(x2)[0]))
        expected, _ = network.synthesis(network.mask(spec, o))
        assert torch.equal(network(audio)[0], expected)


@torch.no_grad()
def test_a_soft_input_has_the_features_of_a_louder_one():
    """The mask is the same, and multiplies the spectrum as it is."""
    network = streaming()
    torch.nn.init.normal_(network.decoder.head.weight, std=0.3)
    noisy = (torch.rand(1, 100 * network.config.hop_length) * 2 - 1) * 10 ** (-58 / 20)
    gain = 10 ** (-8 / 20)
    expected = network(noisy)[0]
    torch.testing.assert_close(network(noisy * gain)[0] / gain, expected, rtol=0, atol=1e-7)
    assert expected.abs().max() > 1e-3
