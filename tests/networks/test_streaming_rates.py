"""One set of weights at several sample rates: `StreamingEnhancer.at`."""

import copy
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soxr
from devices import OneDevice

from qse.networks.streaming import StreamingConfig, StreamingEnhancer
from qse.networks.time_mixers import TIME_MIXERS
from qse.nn import contract

WIDE = StreamingConfig(
    n_fft=64,
    hop_length=24,
    overlap=16,
    ranges=((16, 2), (16, 4)),
    channels=(4, 4, 4),
    growth=2,
    dilations=(1, 2),
)


def full_band() -> StreamingEnhancer:
    """An untrained network for 48 kHz whose statistics and biases are not those of a fresh
    layer."""
    torch.manual_seed(0)
    sizes = {"n_fft": 192, "hop_length": 72, "overlap": 48, "ranges": ((16, 2), (16, 4), (64, 4))}
    network = StreamingEnhancer(StreamingConfig(**{**vars(WIDE), "sample_rate": 48000, **sizes}))
    for parameter in network.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    return network.eval()


def cut_weights(weights: dict, wanted: dict) -> dict:
    """The weights of a narrower network, picked by name and size: what it lacks lies at the end of
    an axis."""
    cut = {}
    for name, value in wanted.items():
        cut[name] = weights[name][tuple(map(slice, value.shape))]
    return cut


@torch.no_grad()
@pytest.mark.parametrize("mixer", sorted(TIME_MIXERS))
def test_at_keeps_the_items_of_a_batch_apart(mixer):
    """Mixers that know the number of bands know that there are fewer at a lower rate."""
    config = full_band().config
    network = StreamingEnhancer(replace(config, time_mixer=(mixer,))).eval().at(16000)
    noisy = torch.randn(8, 6 * 24)
    batch = network(noisy)[0]
    torch.testing.assert_close(batch[:1], network(noisy[:1])[0])


@torch.no_grad()
def test_at_equals_a_network_of_that_rate_with_the_same_weights():
    network = full_band()
    narrow = StreamingEnhancer(WIDE).eval()
    narrow.load_state_dict(cut_weights(network.state_dict(), narrow.state_dict()))
    noisy = torch.randn(2, 20 * 24)
    assert torch.equal(network.at(16000)(noisy)[0], narrow(noisy)[0])


def test_at_makes_each_network_once():
    network = full_band()
    narrow = network.at(16000)
    assert network.at(16000) is narrow
    assert copy.deepcopy(network).at(16000) is not narrow
    assert network.state_dict().keys() == full_band().state_dict().keys()


def test_at_follows_the_mode_of_the_network():
    network = full_band()
    assert not network.at(16000).training
    network.train()
    assert all(layer.training for layer in network.at(16000).modules())


@torch.no_grad()
def test_at_follows_the_type_of_the_weights():
    network = full_band()
    expected = network.at(16000)(torch.ones(1, 48))[0]
    found = network.double().at(16000)(torch.ones(1, 48, dtype=torch.float64))[0]
    torch.testing.assert_close(found.float(), expected)


@pytest.mark.parametrize("rate", [16000, 48000])
def test_at_works_on_the_device_of_the_weights(rate, monkeypatch):
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # knows no meta device
    network = full_band().to("meta")
    with OneDevice():
        enhanced, _ = network.at(rate)(torch.randn(2, 10 * rate * 24 // 16000, device="meta"))
    assert enhanced.device.type == "meta"


def test_at_shares_weights_and_gradients():
    network = full_band()
    network.at(16000)(torch.randn(1, 240))[0].square().sum().backward()
    assert network.encoder.split.convs[1].weight.grad.abs().sum() > 0
    assert network.encoder.split.convs[2].weight.grad is None
    assert network.bottleneck.blocks["block0"].band.grad[:3].abs().sum() > 0


@torch.no_grad()
def test_features_agree_across_sample_rates():
    audio = np.random.default_rng(0).standard_normal(48000).astype(np.float32) * 0.1
    low = soxr.resample(audio, 48000, 16000)
    high = soxr.resample(low, 16000, 48000)  # the same signal: nothing above 8 kHz
    network = full_band()
    narrow = network.at(16000)
    at48 = network.features(network.analysis(torch.from_numpy(high[: 600 * 72])[None])[0])[..., :26]
    at16 = narrow.features(narrow.analysis(torch.from_numpy(low[: 600 * 24])[None])[0])[..., :26]
    assert (at48 - at16).norm() < 0.02 * at16.norm()
    assert (3**0.3 * at48 - at16).norm() > 0.2 * at16.norm()  # as without the gain of the features


@pytest.mark.parametrize("sample_rate", [16000, 24000, 32000, 48000])
def test_every_rate_streams_as_it_enhances(sample_rate):
    network = full_band().at(sample_rate)
    hop = network.config.hop_length
    contract.verify_stream(network, torch.randn(1, 12 * hop), dim=1, unit=hop)


@pytest.mark.parametrize("sample_rate", [44100, 96000])
def test_at_refuses_other_rates(sample_rate):
    with pytest.raises(ValueError, match=str(sample_rate)):
        full_band().at(sample_rate)
