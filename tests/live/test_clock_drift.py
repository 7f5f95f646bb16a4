"""The controller of the drift between two clocks."""

import numpy as np
import pytest

from qse.live.clock_drift import FAST, LEARNING, LIMIT, SLOW, ClockDrift


@pytest.mark.parametrize("faster", [200e-6, -200e-6])
def test_clock_drift_learns_the_ratio(faster):
    drift = ClockDrift()
    excess = 0.0
    furthest = 0.0
    for _ in range(20_000):
        excess += (drift.update(excess, 0.1) - faster) * 0.1  # what is made less what is played
        furthest = max(furthest, abs(excess))
    assert drift.stretch == pytest.approx(faster, rel=0.02)
    assert furthest < 0.005


def test_clock_drift_limit():
    drift = ClockDrift()
    assert {drift.update(excess, 1.0) for excess in (1.0, 10.0, 1.0)} == {-LIMIT}
    assert drift.update(-10.0, 1.0) == LIMIT


def test_clock_drift_slows_down():
    """The answer to a level that is off at once becomes weaker with the time that was listened,
    down to a limit."""
    answers = []
    for age in (0.0, LEARNING, 3 * LEARNING, 1e6):
        drift = ClockDrift()
        drift.update(0.0, age)
        answers.append(-drift.update(1e-3, 0.0))
    expected = [2e-3 * speed for speed in (FAST, FAST / 2, FAST / 4, SLOW)]
    np.testing.assert_allclose(answers, expected)
