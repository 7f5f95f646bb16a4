"""DNSMOS against its package."""

import numpy as np
import pytest
from speech import SAMPLE_RATE, hiss, voice

from qse.evaluate.metrics import METRICS
from qse.evaluate.scoring import score_pair

CLEAN = voice()
NOISE = hiss(len(CLEAN), 99)


def test_dnsmos_equals_its_package():
    from speechmos import dnsmos as package

    noisy = np.tile(CLEAN + 0.03 * NOISE, 5)[: int(9.5 * SAMPLE_RATE)]  # one window of 9 s
    ours = score_pair(
        enhanced=noisy, metrics=[name for name in METRICS if name.startswith("dnsmos")]
    )
    theirs = package.run(noisy.astype(np.float32), sr=SAMPLE_RATE)
    for name in ("ovrl", "sig", "bak", "p808"):
        assert ours[f"dnsmos_{name}"] == pytest.approx(float(theirs[f"{name}_mos"]), abs=1e-4)
        assert 1 <= ours[f"dnsmos_{name}"] <= 5
