"""The [train] table: learning rate schedule and refused values."""

import math
from dataclasses import replace

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
        ({"precision": "half"}, "precision 'half': choose float32, bfloat16 or float16"),
        ({"betas": [0.9]}, r"betas \[0.9\]: two numbers, from 0 to below 1"),
        ({"betas": [0.9, 1]}, r"betas \[0.9, 1.0\]: two numbers, from 0 to below 1"),
        ({"weight_decay": -0.1}, "weight_decay -0.1: must be at least 0"),
        ({"learning_rate": -1}, "learning_rate -1.0: must be above 0"),
        ({"learning_rate": math.inf}, "learning_rate inf: must be above 0, and finite"),
        ({"ema_decay": math.nan}, "ema_decay nan: must be from 0 to 1"),
        ({"steps": -5}, "steps -5: must be at least 0"),
        ({"batch": 0}, "batch 0: must be at least 1"),
        ({"accumulate": 0}, "accumulate 0: must be at least 1"),
        ({"valid_hours": math.inf}, "valid_hours inf: must be at least 0"),
    ],
)
def test_train_config_refuses(values, sentence):
    with pytest.raises(QseError, match=sentence):
        build(TrainConfig, values)


def test_counted_takes_hours_and_epochs():
    """150 epochs of 760 hours in segments of 2 s, 16 by each of two processes: Appendix D.3."""
    plan = TrainConfig(batch=16, epochs=150, epoch_hours=760, valid_hours=76)
    counted = plan.counted(segments=99, seconds=2.0, processes=1)
    assert counted.steps == 150 * 760 * 3600 // (2 * 16) == 150 * 85500
    assert counted.valid_every == 8550
    both = replace(plan, accumulate=2).counted(segments=99, seconds=2.0, processes=2)
    assert both.steps == 150 * 85500 // 4 and both.valid_every == round(8550 / 4)
    assert replace(plan, epoch_hours=0).counted(160, 2.0, 1).steps == 150 * 10
    assert replace(plan, steps=7).counted(160, 2.0, 1).steps == 7
