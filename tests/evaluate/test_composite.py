"""Composite measures against an independent implementation, and their parts."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from scipy.linalg import solve_toeplitz, toeplitz
from speech import SAMPLE_RATE, hiss, voice

from qse.evaluate import composite
from qse.evaluate.scoring import score_pair

CLEAN = voice()
NOISE = hiss(len(CLEAN), 99)


def pair(gain: float) -> dict:
    return {"clean": CLEAN, "enhanced": CLEAN + gain * NOISE, "sample_rate": SAMPLE_RATE}


# llr, wss, segmental SNR and the resulting csig, cbak, covl as the package pysepm 0.1 gives them
# (its tests hold it to the authors' MATLAB code) for CLEAN against CLEAN + gain * NOISE; wide-band
# PESQ from the package pesq 0.0.4
PUBLISHED = {
    0.003: (
        0.2763652531305803,
        14.607905408568085,
        13.375629869849206,
        4.795930670,
        4.053974244,
        4.178801605,
    ),
    0.010: (
        0.6841140744781620,
        17.163570491580440,
        7.7996841184854455,
        3.505500541,
        3.012702197,
        2.820264349,
    ),
    0.030: (
        1.1061434120773380,
        20.893227421219155,
        2.6022998960907775,
        2.768543647,
        2.445825699,
        2.218802367,
    ),
}


@pytest.mark.parametrize("gain", PUBLISHED)
def test_composite_equals_pysepm(gain):
    llr, wss, segmental_snr, *ratings = PUBLISHED[gain]
    assert composite.llr(**pair(gain)) == pytest.approx(llr, abs=1e-9)
    assert composite.wss(**pair(gain)) == pytest.approx(wss, abs=1e-9)
    assert composite.segmental_snr(**pair(gain)) == pytest.approx(segmental_snr, abs=1e-9)
    assert list(
        score_pair(**pair(gain), metrics=["csig", "cbak", "covl"]).values()
    ) == pytest.approx(ratings, abs=1e-6)


def test_levinson_solves_the_normal_equations():
    lags = composite.autocorrelation(composite.frames(CLEAN + 0.01 * NOISE, SAMPLE_RATE)[:20])
    filters = composite.levinson(lags)
    for lag, whitening in zip(lags, filters, strict=True):
        np.testing.assert_allclose(
            whitening[1:], -solve_toeplitz(lag[:-1], lag[1:]), rtol=1e-6, atol=1e-8
        )
        error = composite.prediction_error(whitening[None], lag[None])[0]
        assert error == pytest.approx(whitening @ toeplitz(lag) @ whitening, rel=1e-6)


def test_slope_weights_follow_the_published_search():
    # coarse, so that equal neighbours occur
    levels = np.round(hiss(25 * 40, 7).reshape(40, 25) * 5)
    for level, weights in zip(levels, composite.slope_weights(levels), strict=True):
        rise = np.diff(level)
        for band in range(24):
            place = band
            if rise[band] > 0:  # search to the right
                while place < 24 and rise[place] > 0:
                    place += 1
                peak = level[place - 1]
            else:  # search to the left
                while place >= 0 and rise[place] <= 0:
                    place -= 1
                peak = level[place + 1]
            expected = 20 / (20 + level.max() - level[band]) * 1 / (1 + peak - level[band])
            assert weights[band] == pytest.approx(expected, rel=1e-12)


def test_composite_is_finite_on_digital_silence():
    gap = CLEAN.copy()
    gap[8000:16000] = 0
    for clean, enhanced in ((gap, CLEAN), (CLEAN, gap), (gap, gap)):
        scores = score_pair(
            clean=clean, enhanced=enhanced, metrics=["csig", "cbak", "covl", "segmental_snr"]
        )
        assert all(np.isfinite(value) for value in scores.values())


def test_segmental_snr_of_a_constant_error():
    for factor, expected in ((1.1, 20.0), (1.001, 35.0), (6.0, -10.0)):
        value = composite.segmental_snr(
            clean=NOISE, enhanced=factor * NOISE, sample_rate=SAMPLE_RATE
        )
        assert value == pytest.approx(expected, abs=1e-9)


ASSETS = Path(__file__).parents[2] / "assets"


@pytest.fixture(scope="module")
def asset():
    clean, noisy = (soundfile.read(ASSETS / f"{side}.wav")[0] for side in ("clean", "noisy"))
    return {"clean": clean, "enhanced": noisy, "sample_rate": SAMPLE_RATE}


@pytest.mark.parametrize("scale, expected", [(1.0, 65.0), (composite.WSS_SCRIPT_SCALE, 47.0)])
def test_wss_reproduces_both_published_scripts(asset, scale, expected):
    """The script of the conformer GANs divides frames by 32768: 47.0 on this recording, in place
    of 65.0."""
    assert composite.wss(**asset, scale=scale) == pytest.approx(expected, abs=0.05)


def test_composite_scaled_differs_in_wss_alone(asset):
    scores = score_pair(**asset, metrics=["cbak", "cbak_scaled", "csig_scaled", "covl_scaled"])
    assert scores["cbak"] == pytest.approx(1.649, abs=5e-4) and scores[
        "cbak_scaled"
    ] == pytest.approx(1.775, abs=5e-4)


def test_llr_leaves_digital_silence_out(asset):
    """10 % of digital silence in the clean file raised LLR by about 1."""
    samples = len(asset["clean"])
    gap = np.where(np.abs(np.arange(samples) - samples / 2) < samples / 20, 0, asset["clean"])
    assert abs(composite.llr(**asset | {"clean": gap}) - composite.llr(**asset)) < 0.1
    with pytest.raises(ValueError, match="digital silence"):
        composite.llr(**asset | {"clean": 0 * gap})


def test_llr_takes_silence_that_was_resampled_for_silence(asset):
    """A filter makes tiny values of exact zeros, which raised LLR by 2.5."""
    clean = asset["clean"].copy()
    for start in range(20000, 140000, 8000):
        clean[start : start + 3000] = 0
    twice = soxr.resample(soxr.resample(clean, 16000, 48000, "VHQ"), 48000, 16000, "VHQ")
    assert 0 < np.abs(twice[21000:22000]).max() < 1e-6
    exact = composite.llr(**asset | {"clean": clean})
    assert composite.llr(**asset | {"clean": twice}) == pytest.approx(exact, abs=0.1)
