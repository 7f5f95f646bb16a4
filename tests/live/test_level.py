"""The level meter against levels that are known beforehand."""

import numpy as np
import pytest

from qse.live.level import Level


def test_level_is_rms_against_full_scale():
    def dbfs(block: np.ndarray) -> float:
        level = Level(16000)
        level.add(block)
        return level.dbfs

    assert dbfs(np.ones(100)) == 0
    assert dbfs(np.full((50, 2), 0.1, np.float32)) == pytest.approx(-20, abs=1e-4)
    assert dbfs(np.sin(np.arange(10000))) == pytest.approx(-3.01, abs=0.01)
    assert dbfs(np.zeros(10)) == dbfs(np.zeros(0)) == -120


def test_level_falls_half_a_second_after_the_sound():
    level = Level(16000)
    for _ in range(100):
        level.add(np.ones(160, np.float32))
    for _ in range(25):
        level.add(np.zeros(160, np.float32))
    assert level.dbfs == pytest.approx(-3.01, abs=0.01)
    for _ in range(25):
        level.add(np.zeros(160, np.float32))
    assert level.dbfs == -120


def test_level_of_a_source_that_delivers_nothing_is_silence(monkeypatch):
    now = [50.0]
    monkeypatch.setattr("qse.live.level.monotonic", lambda: now[0])
    level = Level(16000)
    level.add(np.ones(160, np.float32))
    assert level.dbfs == 0
    now[0] += 1.1
    assert level.dbfs == -120
