"""Timing: calls that take turns, quantiles."""

import numpy as np
import pytest

from qse.runtime import timing as clock


def test_race_takes_turns_after_a_warmup():
    order = []
    calls = {name: lambda name=name: order.append(name) for name in "ab"}
    times = clock.race(calls, 0.0, group=2, warmup=3, least=2)
    assert "".join(order) == "aaaaaabbbbbb" + "aabb" * (len(times["a"].seconds) // 2)
    assert len(times["a"].seconds) == len(times["b"].seconds) >= 4


def test_times_quantiles():
    times = clock.Times(np.arange(101) / 100)
    assert (
        times.median == 0.5 and times.quantile(0.99) == pytest.approx(0.99) and times.longest == 1
    )
    assert times.mean == pytest.approx(0.5)


def test_stepper_enhances_noise_at_20_db_below_full_scale(delay):
    step = clock.stepper(delay)
    hops = 2 * delay.sample_rate // delay.hop_length
    heard = np.concatenate([step().copy() for _ in range(hops + 1)])[delay.latency :]
    assert 20 * np.log10(heard.std()) == pytest.approx(-20, abs=0.2)
