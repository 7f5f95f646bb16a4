"""PESQ, STOI and ESTOI at their limits."""

import numpy as np
import pytest
from speech import SAMPLE_RATE, hiss, voice

from qse.evaluate.metrics import estoi, pesq_wb, stoi

CLEAN = voice()
NOISE = hiss(len(CLEAN), 99)


def pair(gain: float) -> dict:
    return {"clean": CLEAN, "enhanced": CLEAN + gain * NOISE, "sample_rate": SAMPLE_RATE}


def test_pesq_wb_of_the_signal_itself():
    # ITU-T P.862.2, Eq. 1 at the highest raw score
    top = 0.999 + 4 / (1 + np.exp(-1.3669 * 4.5 + 3.8224))
    assert pesq_wb(clean=CLEAN, enhanced=CLEAN) == pytest.approx(top, abs=1e-4)
    assert pesq_wb(clean=CLEAN, enhanced=0.5 * CLEAN) == pytest.approx(top, abs=1e-2)


@pytest.mark.parametrize("metric", [stoi, estoi])
def test_stoi_is_1_for_the_signal_and_falls_with_noise(metric):
    values = [metric(**pair(gain)) for gain in (0.0, 0.01, 0.1, 0.5)]
    assert values[0] == pytest.approx(1.0, abs=1e-6)
    assert values == sorted(values, reverse=True) and values[-1] < 0.75
