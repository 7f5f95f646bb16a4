"""Dense block, bottleneck and the live family: the streaming law, alignment, identity at the start, silence."""

import pytest

torch = pytest.importorskip("torch")

import contract

from qse.errors import QseError
from qse.networks import build_network, enhance
from qse.networks.bottleneck import Bottleneck, DualPathBlock
from qse.networks.dense_block import DenseBlock
from qse.networks.streaming import BandMerge, BandSplit, StreamingConfig, StreamingEnhancer
from qse.nn.state import flatten_state

TINY = {
    "n_fft": 64, "hop_length": 32, "ranges": ((32, 2),), "channels": (2, 2, 4), "growth": 2,
    "dilations": (1, 2), "blocks": 1, "heads": 2,
}  # fmt: skip
VARIANTS = {
    "plain": {},
    "norm of queries and keys": {"qk_norm": True},
    "asymmetric windows": {"hop_length": 16},
    "short overlap": {"overlap": 8},
    "two ranges": {"ranges": ((16, 1), (16, 4))},
    "two blocks": {"blocks": 2},
}
each_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)


def trained(network: torch.nn.Module) -> torch.nn.Module:
    """In eval mode, with biases, gains and statistics as after some training, and a head that does something."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        for name, buffer in network.named_buffers():
            if "running" in name:
                buffer.copy_(0.5 + torch.rand_like(buffer))
    return network.eval()


def live(**changes) -> StreamingEnhancer:
    return trained(StreamingEnhancer(StreamingConfig(**{**TINY, **changes})))


# Dense block and bottleneck


def test_dense_block_keeps_the_law():
    layer = trained(DenseBlock(2, 3, (1, 2, 4)))
    contract.verify_stream(layer, torch.randn(2, 4, 2, 17, 6), dim=3)


def test_dense_block_is_written_out():
    block, x = trained(DenseBlock(2, 3, (1, 2))), torch.randn(2, 4, 2, 9, 6)
    seen = x
    for layer in block.layers.values():
        y = layer.norm(layer.conv(seen)[0])
        seen = torch.cat([seen, torch.where(y > 0, y, 0.2 * y)], 2)
    y = block.out.norm(block.out.conv(seen))
    torch.testing.assert_close(block(x)[0], x + torch.where(y > 0, y, 0.2 * y))


def test_dense_block_reaches_back_the_sum_of_its_dilations():
    block, x = trained(DenseBlock(2, 3, (1, 2, 4))).double(), torch.randn(1, 4, 2, 12, 6, dtype=torch.float64)
    y, state = block(x)
    assert [leaf.shape[3] for leaf in flatten_state(state).values()] == [1, 2, 4]
    moved = []
    for t in range(12):
        other = x.clone()
        other[:, :, :, t] += 1
        moved.append(not torch.equal(block(other)[0][:, :, :, 11], y[:, :, :, 11]))
    assert moved == [t >= 11 - (1 + 2 + 4) for t in range(12)]


@pytest.mark.parametrize("qk_norm", [False, True])
def test_bottleneck_keeps_the_law(qk_norm):
    layer = trained(Bottleneck(DualPathBlock(5, 4, 2, qk_norm) for _ in range(2)))
    contract.verify_stream(layer, torch.randn(2, 4, 4, 11, 5), dim=3)


def test_bottleneck_mixes_bands_and_knows_which_is_which():
    layer, x = trained(Bottleneck([DualPathBlock(5, 4, 2)])), torch.randn(1, 4, 4, 3, 5)
    other = torch.cat([torch.randn(1, 4, 4, 3, 1), x[..., 1:]], 4)
    change = (layer(other)[0] - layer(x)[0]).abs().amax((0, 1, 2, 3))
    assert (change > 1e-4).all()
    turned = layer(x.flip(4))[0].flip(4)
    assert (turned - layer(x)[0]).abs().max() > 1e-3  # attention alone could not tell


# Ranges of the spectrum


def test_one_range_is_one_strided_convolution():
    split, x = BandSplit(3, ((32, 4),)).eval(), torch.randn(2, 4, 1, 5, 32)
    wide = torch.nn.functional.pad(x, (2, 2))
    torch.testing.assert_close(split(x), split.act(split.norm(split.convs[0](wide))))
    assert split(x).shape == (2, 4, 3, 5, 8)


def test_a_band_sees_its_own_bins_and_two_beside_them():
    ranges = ((16, 2), (16, 4))
    split, x = BandSplit(3, ranges).eval(), torch.randn(1, 4, 1, 1, 32)
    edges = [(2 * n, 2 * n + 2) for n in range(8)] + [(16 + 4 * n, 20 + 4 * n) for n in range(4)]
    y = split(x)
    for start, end in edges:
        assert y.shape[-1] == len(edges)
        for bin_ in (start - 3, start - 2, end + 1, end + 2):
            if 0 <= bin_ < 32:
                other = x.clone()
                other[..., bin_] += 1
                moved = not torch.equal(split(other)[..., edges.index((start, end))], y[..., edges.index((start, end))])
                assert moved == (start - 2 <= bin_ < end + 2)


def test_joining_gives_every_band_its_bins_back():
    ranges = ((16, 2), (16, 4))
    join, x = BandMerge(3, 2, ranges).eval(), torch.randn(2, 4, 3, 5, 12)
    y = join(x)
    low, high = (join.act(up(part)) for up, part in zip(join.ups, (x[..., :8], x[..., 8:]), strict=True))
    assert y.shape == (2, 4, 2, 5, 32)
    torch.testing.assert_close(y, torch.cat([low, high], 4))


# The whole network


@each_variant
def test_live_keeps_the_law(changes):
    network = live(**changes)
    hop = network.config.hop_length
    contract.verify_stream(network, 0.3 * torch.randn(2, 11 * hop), dim=1, unit=hop)


@torch.no_grad()
def test_live_streams_hop_by_hop_in_float32():
    network, audio, state, parts = live(), 0.3 * torch.randn(1, 40 * 32), None, []
    for hop in audio.split(32, 1):
        y, state = network(hop, state)
        parts.append(y)
    torch.testing.assert_close(torch.cat(parts, 1), network(audio)[0], rtol=0, atol=2e-6)


@each_variant
def test_live_does_something_and_keeps_levels_sane(changes):
    network, audio = live(**changes), 0.3 * torch.randn(2, 1280)
    y = enhance(network, audio)
    assert 0.005 < (y - audio).square().mean().sqrt() < 1


@torch.no_grad()
@pytest.mark.parametrize("samples", [1, 31, 32, 33, 500])
@pytest.mark.parametrize("hop", [16, 32])
def test_a_network_whose_head_is_zero_gives_its_input_back_aligned(samples, hop):
    network, audio = live(hop_length=hop), 0.3 * torch.randn(2, samples)
    network.decoder.head.weight.zero_(), network.decoder.head.bias.zero_()
    found = enhance(network, audio)
    assert network.latency == hop and found.shape == audio.shape
    torch.testing.assert_close(found, audio, rtol=0, atol=2e-6)


def test_enhance_takes_an_offline_network_as_it_is():
    assert enhance(torch.nn.Hardtanh(), torch.tensor([[3.0, -0.5]])).tolist() == [[1.0, -0.5]]


@each_variant
def test_silence_gives_silence_and_finite_gradients(changes):
    network = live(**changes).train()
    y, state = network(torch.zeros(2, 320))
    (y.sum() + sum(leaf.sum() for leaf in flatten_state(state).values())).backward()
    assert y.abs().max() == 0
    assert all(torch.isfinite(leaf).all() for leaf in flatten_state(state).values())
    assert all(torch.isfinite(p.grad).all() for p in network.parameters() if p.grad is not None)


@torch.no_grad()
def test_state_is_one_tensor_per_layer_that_remembers():
    network = live()
    names = set(flatten_state(network(torch.zeros(3, 64))[1]))
    assert names == {
        "analysis", "encoder.dense.layer0", "encoder.dense.layer1", "encoder.down2", "bottleneck.block0",
        "decoder.dense.layer0", "decoder.dense.layer1", "synthesis",
    }  # fmt: skip


def test_every_weight_is_trained():
    network = live(qk_norm=True).train()
    network(0.3 * torch.randn(2, 320))[0].square().sum().backward()
    idle = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert not idle


# By name


def test_a_table_builds_a_network():
    network = build_network({"network": "streaming", **{key: value for key, value in TINY.items() if key != "heads"}})
    assert isinstance(network, StreamingEnhancer) and network.config == StreamingConfig(**{**TINY, "heads": 4})


@pytest.mark.parametrize(
    "model, sentence",
    [
        ({"network": "life"}, r"unknown network 'life'; there are .*streaming"),
        ({}, r"unknown network None; there are .*streaming"),
        ({"network": "streaming", "chanels": [2, 2, 4]}, r"network streaming: unknown key 'chanels'.*channels"),
        ({"network": "streaming", "n_fft": 64}, "ranges must cover the 32 bins of n_fft 64"),
        ({"network": "streaming", "n_fft": 513}, "n_fft 513: an even number"),
        ({"network": "qconformer", "hop_length": 400}, "hop_length 400: must divide n_fft 400 at least in two"),
        ({"network": "streaming", "ranges": [[255, 1], [1, 1]]}, "multiple of 4 times its bins per band"),
        ({"network": "streaming", "heads": 3}, "3 heads do not divide 16 quaternion channels"),
        ({"network": "streaming", "heads": 0}, "heads = 0: must be above 0"),
        ({"network": "streaming", "ranges": [[96, 0], [160, 5]]}, "ranges = .*must be above 0"),
        ({"network": "streaming", "channels": [8, 12]}, "channels .*three numbers"),
        ({"network": "streaming", "blocks": -1}, "blocks -1: 0 or more"),
        ({"network": "qconformer", "layers": -1}, "layers -1: 0 or more"),
        ({"network": "qconformer", "kernel": 4}, "kernel 4: an odd number"),
        ({"network": "conformer", "encoder": []}, "encoder and decoder: at least one dilation each"),
        ({"network": "qconformer", "hop_length": 0}, "network qconformer: hop_length = 0: must be above 0"),
        ({"network": "conformer", "channels": -4}, "channels = -4: must be above 0"),
        ({"network": "streaming", "hop_length": 400}, "n_fft 512 is shorter than a hop of 400 and an overlap of 400"),
        (3, "expected a table"),
    ],
)
def test_a_table_that_fits_no_network_is_one_sentence(model, sentence):
    with pytest.raises(QseError, match=sentence):
        build_network(model)
