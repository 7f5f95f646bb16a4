"""The protocol of the published code, beside its steps written out."""

import numpy as np
import pytest
from speech import hiss, voice

from qse.evaluate.published import beside_published, find_published
from qse.evaluate.scoring import score_pair

RATINGS = ["pesq_wb", "csig", "cbak", "covl"]
CLEAN = 0.3 * voice(2.0)
NOISY = 0.5 * CLEAN + 0.02 * hiss(len(CLEAN)) + 0.001


def rms(signal):
    return np.sqrt(np.mean(signal**2) + 1e-10)


def by_protocol(enhanced):
    found = score_pair(clean=CLEAN, noisy=NOISY, enhanced=enhanced, metrics=["published"])
    return {name.removesuffix("_published"): value for name, value in found.items()}


def test_published_turns_cuts_levels_and_centres():
    """An output of the wrong sign, too quiet, with an offset and a click."""
    enhanced = -0.2 * NOISY + 0.01
    enhanced[1000] = 1.7
    peak = np.abs(NOISY).max()
    output = np.clip(-enhanced, -peak, peak)  # the correlation is negative
    level = np.clip(output * rms(CLEAN) / rms(output), -1, 1)
    expected = score_pair(clean=CLEAN, enhanced=level, metrics=RATINGS)
    expected |= score_pair(clean=CLEAN, enhanced=output, metrics=["stoi"])
    x = CLEAN - CLEAN.mean()
    y = output - output.mean()
    target = x * (x @ y) / (x @ x)
    expected["si_sdr"] = 10 * np.log10(np.sum(target**2) / np.sum((target - y) ** 2))
    found = by_protocol(enhanced)
    assert found == pytest.approx(expected, abs=1e-6)
    plain = score_pair(clean=CLEAN, enhanced=enhanced, metrics=["pesq_wb", "si_sdr"])
    assert abs(plain["pesq_wb"] - found["pesq_wb"]) > 0.01
    assert abs(plain["si_sdr"] - found["si_sdr"]) > 0.1


def test_published_takes_a_gain_of_the_output_for_nothing():
    enhanced = 0.8 * CLEAN + 0.01 * hiss(len(CLEAN))
    assert by_protocol(-0.25 * enhanced) == pytest.approx(by_protocol(0.5 * enhanced), abs=2e-3)


def test_published_scores_stand_beside_published_results():
    means = {"pesq_wb": {"mean": 2.0}, "pesq_wb_published": {"mean": 3.0}, "stoi": {"mean": 0.9}}
    text = beside_published(
        {"system": "mine", "enhanced": means, "noisy": {}}, find_published("voicebank")
    )
    own = next(line for line in text.splitlines() if "mine" in line)
    assert "3.00" in own and "0.90" in own and "2.00" not in own
    assert "This run: pesq_wb_published, stoi." in text
