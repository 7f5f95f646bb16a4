"""Meters against times that are known beforehand."""

import pytest

from qse.runtime.meter import Meter


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
