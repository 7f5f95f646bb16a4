"""The moving average of weights."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from qse.train.ema import WeightEMA


def test_ema_reaches_its_decay():
    layer = nn.Linear(1, 1, bias=False)
    nn.init.ones_(layer.weight)
    ema = WeightEMA(layer, 0.999)
    ema.updates = 100000
    nn.init.constant_(layer.weight, 3.0)
    ema.update()
    assert ema.network.weight.item() == pytest.approx(1.002)


def test_ema_keeps_a_mask_that_is_not_finite():
    layer = nn.Linear(2, 2)
    mask = torch.full((2, 2), float("-inf")).triu(1)
    layer.register_buffer("mask", mask, persistent=False)
    ema = WeightEMA(layer, 0.9)
    for _ in range(3):
        ema.update()
    assert torch.equal(ema.network.mask, mask)


def test_ema_starts_with_a_short_decay_and_copies_counters():
    layer = nn.BatchNorm1d(2)
    ema = WeightEMA(layer, 0.9)
    expected = None
    for n in range(20):
        layer(torch.randn(5, 2))
        layer.weight.data = torch.randn(2)
        ema.update()
        decay = min(0.9, (1 + n) / (10 + n)) if n else 0.0
        now = torch.cat([layer.weight.detach(), layer.running_mean])
        expected = now if expected is None else decay * expected + (1 - decay) * now
        found = torch.cat([ema.network.weight.detach(), ema.network.running_mean])
        torch.testing.assert_close(found, expected)
    assert ema.network.num_batches_tracked == 20 and ema.updates == 20
