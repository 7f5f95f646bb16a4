"""The paper's networks: alignment, gradients, evaluation in tiles."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks import axial_attention, dilated_densenet
from qse_papers.networks.offline_config import OfflineConfig
from small_networks import PARAMS, offline, unsettle
from torch import nn

from qse.losses.loss_config import LossConfig
from qse.losses.weighted_sum import WeightedSum


@pytest.mark.parametrize("name", PARAMS)
def test_offline_with_a_zero_mask_returns_its_input(name):
    network = offline(name).eval()
    last = (network.core.out if name == "conformer" else network.core.decoder.out)[-1]
    nn.init.zeros_(last.weight)
    for samples in (1, 8, 403):
        noisy = 0.3 * torch.randn(2, samples)
        torch.testing.assert_close(network.enhance(noisy), noisy, rtol=0, atol=1e-5)


def test_offline_config_refuses_an_odd_n_fft():
    """Whose last bin stands for a pair, so that the inverse STFT would lose half of it."""
    with pytest.raises(ValueError, match="n_fft 405: an even number"):
        OfflineConfig(n_fft=405, hop_length=81)


@pytest.mark.parametrize("name", PARAMS)
def test_offline_trains_every_parameter(name):
    network = offline(name).train()
    config = LossConfig(mrstft=0.0, pesq=0.0, n_fft=32, hop_length=8)
    noisy = 0.1 * torch.randn(2, 400)
    noisy[1] = 0
    WeightedSum(config)(clean=0.5 * noisy, enhanced=network(noisy))[0].backward()
    for path, parameter in network.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), path
        assert parameter.grad.abs().max() > 0, path


@pytest.mark.parametrize("name", ["qconformer", "qdensenet", "conformer"])
def test_offline_in_tiles_equals_all_at_once(name, monkeypatch):
    network = unsettle(offline(name)).eval()
    noisy = 0.3 * torch.randn(1, 1203)
    expected = network(noisy)
    assert (expected - noisy).abs().max() > 1e-2
    monkeypatch.setattr(axial_attention, "TILE", 40)
    monkeypatch.setattr(dilated_densenet, "TILE", 40)
    torch.testing.assert_close(network(noisy), expected, rtol=0, atol=1e-5)


def test_offline_compiles_what_training_calls(monkeypatch):
    network = offline("qtransformer").eval()
    noisy = 0.3 * torch.randn(1, 40)
    called = []
    monkeypatch.setattr(
        torch, "compile", lambda inner, *_, **__: lambda *a, **k: called.append(1) or inner(*a, **k)
    )
    network.compile()
    torch.testing.assert_close(network(noisy), network.with_spec(noisy)[0])
    assert len(called) == 2
