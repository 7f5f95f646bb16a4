"""The check of speed before a session."""

import numpy as np
import pytest

import qse
from qse.live import speed_check as warmup


def test_advice_names_a_faster_model(models, monkeypatch):
    speeds = {"live-base": 1.3, "recurrent": 0.2, "fragile": 0.4}
    # others are installed as well
    monkeypatch.setattr(warmup, "speed", lambda engine: speeds.get(engine.name, 2.0))
    advice = warmup.advice(qse.load("live-base"))
    assert "live-base is too slow" in advice and "; fragile would fit" in advice
    speeds["fragile"] = 0.9
    speeds["recurrent"] = 0.9
    assert "no installed model" in warmup.advice(qse.load("live-base"))
    assert warmup.advice(qse.load("recurrent")) is not None
    speeds["live-base"] = 0.6
    assert warmup.advice(qse.load("live-base")) is None


def test_speed_is_processing_time_per_second(recurrent, monkeypatch):
    ticks = iter(np.arange(0, 10, 0.001))
    monkeypatch.setattr(warmup, "perf_counter", lambda: float(next(ticks)))
    assert warmup.speed(recurrent) == pytest.approx(0.001 / 0.01, rel=0.01)
