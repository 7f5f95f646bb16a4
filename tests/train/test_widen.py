"""A widened network computes what the narrow one does, and copies of a channel learn different
things."""

import pytest

torch = pytest.importorskip("torch")

from small_training import TINY

from qse import QseError
from qse.networks import build_network
from qse.networks.time_mixers import TIME_MIXERS
from qse.nn.norm import QuaternionLayerNorm
from qse.train.warm_start import grow
from qse.train.widen import widen


def pair(changes=None, **how):
    """A network with weights far from their initial values, and one of twice the width with two
    blocks more."""
    torch.manual_seed(0)
    small = {**TINY, "window": 5, **how}
    narrow = build_network(small).train()
    for name, parameter in narrow.named_parameters():
        if not name.endswith((".rate", ".turn")):  # of the LRU, which is stable where it began
            parameter.data += 0.1 * torch.randn_like(parameter)
    narrow(0.1 * torch.randn(2, 640))  # statistics of the batch norms
    twice = {
        "channels": [2 * n for n in small["channels"]],
        "growth": 2 * small["growth"],
        "blocks": 3,
    }
    large = {**small, **(changes or twice)}
    return narrow.eval(), build_network(large)


def same(narrow, wide):
    noisy = 0.1 * torch.randn(2, 640)
    with torch.no_grad():
        (expected, _) = narrow(noisy)
        (found, _) = wide.eval()(noisy)
    assert (expected - noisy).abs().max() > 0.05
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-6)


MIXERS = [
    *({"time_mixer": [word]} for word in TIME_MIXERS),
    {"qk_norm": True},
    {"attention": "hamilton"},
    {"attention": "none"},
]


@pytest.mark.parametrize("how", MIXERS)
def test_grow_to_twice_the_channels_is_exact(how):
    narrow, wide = pair(**how)
    grow(wide, narrow.state_dict())
    same(narrow, wide)


@pytest.mark.parametrize(
    "changes", [{"channels": (3, 5, 4)}, {"growth": 5}, {"channels": (5, 2, 12), "growth": 3}]
)
def test_grow_to_any_channels_outside_blocks_is_exact(changes):
    narrow, wide = pair(changes)
    grow(wide, narrow.state_dict())
    same(narrow, wide)


@pytest.mark.parametrize("how", MIXERS)
def test_grow_to_any_channels_is_exact_but_for_layer_norms(how, monkeypatch):
    monkeypatch.setattr(QuaternionLayerNorm, "forward", lambda norm, x: x * norm.gain + norm.bias)
    narrow, wide = pair({"channels": (2, 3, 6)}, **how)
    grow(wide, narrow.state_dict())
    same(narrow, wide)


@pytest.mark.parametrize("name", ["qtransformer", "qtn"])
def test_widen_offline_networks_to_twice_the_channels(name):
    torch.manual_seed(0)
    small = {
        "network": name,
        "channels": 4,
        "n_fft": 64,
        "hop_length": 32,
        "encoder": [1],
        "decoder": [2],
        "layers": 1,
    }
    narrow = build_network(small).double().eval()
    wide = build_network({**small, "channels": 8}).double().eval()
    wide.load_state_dict(widen(wide, narrow.state_dict()))
    noisy = 0.1 * torch.randn(1, 640, dtype=torch.float64)
    with torch.no_grad():
        torch.testing.assert_close(wide.enhance(noisy), narrow.enhance(noisy))


@pytest.mark.parametrize(
    "how, changes",
    [
        ({"time_mixer": ["attention"]}, {"window": 10}),
        ({"algebra": "real"}, {"channels": (4, 4, 8), "growth": 4}),
    ],
)
def test_grow_refuses_what_it_cannot_widen(how, changes):
    narrow = build_network({**TINY, "window": 5, **how})
    with pytest.raises(RuntimeError):
        grow(build_network({**TINY, "window": 5, **how, **changes}), narrow.state_dict())


def test_grow_refuses_real_layers():
    small = {
        "network": "conformer",
        "channels": 8,
        "n_fft": 64,
        "hop_length": 32,
        "encoder": [1],
        "decoder": [2],
    }
    with pytest.raises(RuntimeError):
        grow(build_network({**small, "channels": 16}), build_network(small).state_dict())


def test_grow_gives_copies_different_gradients():
    narrow, wide = pair()
    grow(wide, narrow.state_dict())
    wide(0.1 * torch.randn(2, 640))[0].square().sum().backward()
    for name, parameter in wide.named_parameters():
        if name.startswith("encoder") and name.endswith("conv.weight"):
            # of the two copies of every output channel
            one = parameter.grad[:, ::2]
            other = parameter.grad[:, 1::2]
            assert (one - other).abs().max() > 0.1 * one.abs().max(), name


def test_grow_drops_pruned_branches():
    how = {**TINY, "blocks": 2, "pruned": ["block0.feed", "block1.attention"]}
    torch.manual_seed(0)
    whole = build_network({**TINY, "blocks": 2})
    less = build_network(how)
    gone = (
        "block0.norm_feed.",
        "block0.feed.",
        "block1.norm_attention.",
        "block1.band",
        "block1.attention.",
    )
    weights = whole.state_dict()
    left_out = tuple("bottleneck.blocks." + part for part in gone)
    kept = {name for name in weights if not name.startswith(left_out)}
    grow(less, weights)
    assert less.state_dict().keys() == kept and len(kept) < len(weights) - 10
    assert all(torch.equal(weight, weights[name]) for name, weight in less.state_dict().items())
    more = build_network({**how, "blocks": 3, "pruned": [*how["pruned"], "block2.feed"]})
    grow(more, less.state_dict())
    x = 0.1 * torch.randn(1, 640)
    torch.testing.assert_close(more.eval()(x)[0], less.eval()(x)[0])
    with pytest.raises(
        QseError, match=r"pruned 'block2.feed': choose from block0.attention, block0.time"
    ):
        build_network({**how, "pruned": ["block2.feed"]})
