"""The [train] table: learning rate schedule and refused values."""

import math

import pytest

torch = pytest.importorskip("torch")

from qse.config import build
from qse.errors import QseError
from qse.train.train_config import TrainConfig


def test_rate_rises_stays_and_falls():
    rate = TrainConfig(steps=1000, warmup_steps=100, plateau_steps=400, learning_rate=0.5).rate
    assert [rate(step) for step in (0, 9, 99, 100, 250, 400)] == pytest.approx(
        [0.005, 0.05, 0.5, 0.5, 0.5, 0.5]
    )
    for step in (450, 700, 999):
        assert rate(step) == pytest.approx(0.25 * (1 + math.cos(math.pi * (step - 400) / 600)))
    assert rate(700) == pytest.approx(0.25) and rate(1000) == rate(5000) == 0


def test_rate_without_plateau():
    rate = TrainConfig(steps=300, warmup_steps=100, learning_rate=1.0).rate
    assert rate(100) == 1 and rate(200) == pytest.approx(0.5)
    assert TrainConfig(steps=10, warmup_steps=0, learning_rate=1.0).rate(0) == 1


@pytest.mark.parametrize(
    "values, sentence",
    [
        ({"precision": "half"}, "precision 'half': choose float32 or bfloat16"),
        ({"betas": [0.9]}, r"betas \[0.9\]: two numbers, from 0 to below 1"),
        ({"betas": [0.9, 1]}, r"betas \[0.9, 1.0\]: two numbers, from 0 to below 1"),
        ({"weight_decay": -0.1}, "weight_decay -0.1: must be at least 0"),
        ({"learning_rate": -1}, "learning_rate -1.0: must be above 0"),
        ({"learning_rate": math.inf}, "learning_rate inf: must be above 0, and finite"),
        ({"ema_decay": math.nan}, "ema_decay nan: must be from 0 to 1"),
        ({"steps": -5}, "steps -5: must be at least 0"),
        ({"batch": 0}, "batch 0: must be at least 1"),
    ],
)
def test_train_config_refuses(values, sentence):
    with pytest.raises(QseError, match=sentence):
        build(TrainConfig, values)
