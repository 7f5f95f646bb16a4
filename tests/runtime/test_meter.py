"""Meters against levels and times that are known beforehand."""

import numpy as np
import pytest

from qse.runtime.meter import Level, Meter


def test_level_is_rms_against_full_scale():
    def dbfs(block: np.ndarray) -> float:
        level = Level(16000)
        level.add(block)
        return level.dbfs

    assert dbfs(np.ones(100)) == 0
    assert dbfs(np.full((50, 2), 0.1, np.float32)) == pytest.approx(-20, abs=1e-4)
    assert dbfs(np.sin(np.arange(10000))) == pytest.approx(-3.01, abs=0.01)
    assert dbfs(np.zeros(10)) == dbfs(np.zeros(0)) == -120


def test_meter_times_of_blocks():
    meter = Meter(16000, window=100)
    assert meter.rtf == meter.quantile(0.5) == 0
    for milliseconds in range(1, 101):
        meter.add(800, milliseconds / 1000)  # blocks of 50 ms
    assert meter.rtf == pytest.approx(1.01)
    assert (meter.blocks, meter.longest) == (100, 0.1)
    assert meter.quantile(0.5) == pytest.approx(0.0505)
    for _ in range(100):
        meter.add(800, 0.002)
    # the window has moved on, the record stands
    assert (meter.quantile(0.99), meter.longest) == (
        0.002,
        0.1,
    )
