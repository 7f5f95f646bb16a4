"""A lowered network against the one that it came from, streaming and offline."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import PARAMS, offline, streaming, unsettle
from torch import nn

from qse.export.lowering import lower
from qse.networks.time_mixers import TIME_MIXERS
from qse.nn import contract
from qse.nn.conv import QuaternionConv2d
from qse.nn.linear import QuaternionLinear
from qse.nn.state import flatten_state

VARIANTS = {
    **{f"time by {name}": {"time_mixer": (name,)} for name in TIME_MIXERS},
    "one mixer per block": {"time_mixer": ("gru", "attention"), "blocks": 2},
    "real": {"algebra": "real"},
    "phm": {"algebra": "phm"},
    "pruned branches": {"blocks": 2, "pruned": ("block0.feed", "block1.attention", "block1.time")},
    "a block with its mixer alone": {"pruned": ("block0.attention", "block0.feed")},
    "norm of queries and keys": {"qk_norm": True},
    "bands by Hamilton attention": {"attention": "hamilton"},
    "bands without attention": {"attention": "none"},
    "dilation 1 in every layer": {"dilations": (1, 1)},
    "look-ahead": {"look_ahead": 2, "look_ahead_blocks": (0,)},
    "two ranges, asymmetric windows": {
        "ranges": ((16, 1), (16, 4)),
        "hop_length": 16,
        "overlap": 8,
    },
}


def quaternion_parts(network) -> list[str]:
    """Return the names of modules that lowering should have replaced, and of quaternion weights."""
    kinds = nn.BatchNorm2d, QuaternionLinear, QuaternionConv2d
    parts = [name for name, module in network.named_modules() if isinstance(module, kinds)]
    return [
        name
        for name in parts
        if not isinstance(getattr(network.get_submodule(name), "weight", None), nn.Module)
    ]


@torch.no_grad()
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_lower_computes_the_same(changes):
    network = streaming(**changes)
    x = 0.3 * torch.randn(2, 640)
    expected, _ = network(x)
    lowered = lower(network)
    assert not quaternion_parts(lowered)
    found, _ = lowered(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-6)
    assert (expected[:, network.latency :] - x[:, : -network.latency]).abs().max() > 1e-3


@torch.no_grad()
@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("samples", [7, 403])
def test_lower_offline_computes_the_same(name, samples):
    network = unsettle(offline(name)).eval()
    x = 0.3 * torch.randn(2, samples)
    lowered = lower(network)
    expected = network(x)
    assert name == "conformer" or not quaternion_parts(lowered)
    torch.testing.assert_close(lowered(x), expected, rtol=0, atol=1e-5)
    assert (expected - x).abs().max() > 1e-2


@pytest.mark.parametrize(
    "changes", [{}, {"hop_length": 16, "overlap": 8}], ids=["plain", "asymmetric"]
)
def test_lower_streams(changes):
    lowered = lower(streaming(**changes))
    hop = lowered.config.hop_length
    contract.verify_stream(lowered, 0.3 * torch.randn(2, 11 * hop), dim=1, unit=hop)


@torch.no_grad()
def test_lower_needs_less_state():
    network = streaming(growth=1)

    def size(network):
        return sum(leaf.numel() for leaf in flatten_state(network(torch.zeros(1, 64))[1]).values())

    assert size(lower(network)) < 0.7 * size(network)


def test_lower_leaves_the_network_unchanged():
    network = streaming()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    lower(network)
    after = network.state_dict()
    assert after.keys() == before.keys() and all(
        torch.equal(after[name], before[name]) for name in before
    )
