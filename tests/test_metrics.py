"""Metrics against formulas, their packages' limits, and an independent implementation of the composite measures."""

import numpy as np
import pytest
from scipy.linalg import solve_toeplitz, toeplitz
from speech import SAMPLE_RATE, hiss, voice

from qse.evaluate import composite
from qse.evaluate.metrics import METRICS, estoi, pesq_wb, score_pair, si_sdr, stoi

CLEAN = voice()
NOISE = hiss(len(CLEAN), 99)

# llr, wss, segmental SNR and the resulting csig, cbak, covl as the package pysepm 0.1 gives them (its tests hold it to
# the authors' MATLAB code) for CLEAN against CLEAN + gain * NOISE; wide-band PESQ from the package pesq 0.0.4
PUBLISHED = {
    0.003: (0.2763652531305803, 14.607905408568085, 13.375629869849206, 4.795930670, 4.053974244, 4.178801605),
    0.010: (0.6841140744781620, 17.163570491580440, 7.7996841184854455, 3.505500541, 3.012702197, 2.820264349),
    0.030: (1.1061434120773380, 20.893227421219155, 2.6022998960907775, 2.768543647, 2.445825699, 2.218802367),
}


def pair(gain: float) -> dict:
    return {"clean": CLEAN, "enhanced": CLEAN + gain * NOISE, "sample_rate": SAMPLE_RATE}


@pytest.mark.parametrize("gain", PUBLISHED)
def test_composite_measures_equal_an_independent_implementation(gain):
    llr, wss, segmental_snr, *ratings = PUBLISHED[gain]
    assert composite.llr(**pair(gain)) == pytest.approx(llr, abs=1e-9)
    assert composite.wss(**pair(gain)) == pytest.approx(wss, abs=1e-9)
    assert composite.segmental_snr(**pair(gain)) == pytest.approx(segmental_snr, abs=1e-9)
    assert list(score_pair(**pair(gain), metrics=["csig", "cbak", "covl"]).values()) == pytest.approx(ratings, abs=1e-6)


def test_prediction_filters_solve_the_normal_equations():
    lags = composite.autocorrelation(composite.frames(CLEAN + 0.01 * NOISE, SAMPLE_RATE)[:20])
    filters = composite.levinson(lags)
    for lag, whitening in zip(lags, filters, strict=True):
        np.testing.assert_allclose(whitening[1:], -solve_toeplitz(lag[:-1], lag[1:]), rtol=1e-6, atol=1e-8)
        error = composite.prediction_error(whitening[None], lag[None])[0]
        assert error == pytest.approx(whitening @ toeplitz(lag) @ whitening, rel=1e-6)


def test_slope_weights_follow_the_published_search_for_peaks():
    levels = np.round(hiss(25 * 40, 7).reshape(40, 25) * 5)  # coarse, so that equal neighbours occur
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


def test_composite_measures_stand_digital_silence():
    gap = CLEAN.copy()
    gap[8000:16000] = 0
    for clean, enhanced in ((gap, CLEAN), (CLEAN, gap), (gap, gap)):
        scores = score_pair(clean=clean, enhanced=enhanced, metrics=["csig", "cbak", "covl", "segmental_snr"])
        assert all(np.isfinite(value) for value in scores.values())


def test_segmental_snr_of_a_constant_error_is_that_error_within_its_limits():
    for factor, expected in ((1.1, 20.0), (1.001, 35.0), (6.0, -10.0)):
        value = composite.segmental_snr(clean=NOISE, enhanced=factor * NOISE, sample_rate=SAMPLE_RATE)
        assert value == pytest.approx(expected, abs=1e-9)


def test_si_sdr_is_the_ratio_of_projection_and_rest_at_any_scale():
    rest = NOISE - CLEAN * (NOISE @ CLEAN) / (CLEAN @ CLEAN)  # orthogonal to CLEAN
    rest *= 0.1 * np.linalg.norm(CLEAN) / np.linalg.norm(rest)
    for scale in (1.0, 0.01, -3.0):
        assert si_sdr(clean=CLEAN, enhanced=scale * (CLEAN + rest)) == pytest.approx(20.0, abs=1e-9)
    assert si_sdr(clean=CLEAN, enhanced=rest) == pytest.approx(-100.0)
    assert si_sdr(clean=CLEAN, enhanced=CLEAN) == pytest.approx(100.0)


def test_pesq_of_the_signal_itself_is_the_top_of_the_wide_band_map():
    top = 0.999 + 4 / (1 + np.exp(-1.3669 * 4.5 + 3.8224))  # ITU-T P.862.2, Eq. 1 at the highest raw score
    assert pesq_wb(clean=CLEAN, enhanced=CLEAN) == pytest.approx(top, abs=1e-4)
    assert pesq_wb(clean=CLEAN, enhanced=0.5 * CLEAN) == pytest.approx(top, abs=1e-2)


@pytest.mark.parametrize("metric", [stoi, estoi])
def test_intelligibility_is_1_for_the_signal_itself_and_falls_with_noise(metric):
    values = [metric(**pair(gain)) for gain in (0.0, 0.01, 0.1, 0.5)]
    assert values[0] == pytest.approx(1.0, abs=1e-6)
    assert values == sorted(values, reverse=True) and values[-1] < 0.75


def test_dnsmos_is_what_its_package_says():
    from speechmos import dnsmos as package

    noisy = np.tile(CLEAN + 0.03 * NOISE, 5)[: int(9.5 * SAMPLE_RATE)]  # one window of 9 s
    ours = score_pair(enhanced=noisy, metrics=[name for name in METRICS if name.startswith("dnsmos")])
    theirs = package.run(noisy.astype(np.float32), sr=SAMPLE_RATE)
    for name in ("ovrl", "sig", "bak", "p808"):
        assert ours[f"dnsmos_{name}"] == pytest.approx(float(theirs[f"{name}_mos"]), abs=1e-4)
        assert 1 <= ours[f"dnsmos_{name}"] <= 5


def test_one_run_of_pesq_serves_all_metrics(monkeypatch):
    import pesq

    runs, original = [], pesq.pesq
    monkeypatch.setattr(pesq, "pesq", lambda *arguments: runs.append(arguments) or original(*arguments))
    together = score_pair(**pair(0.01), metrics=["pesq_wb", "segmental_snr", "csig", "covl"])
    assert len(runs) == 1
    assert together["pesq_wb"] == pesq_wb(**pair(0.01))
    assert together["segmental_snr"] == composite.segmental_snr(**pair(0.01))


def test_scores_come_in_the_order_asked_for():
    assert list(score_pair(**pair(0.01), metrics=["si_sdr", "segmental_snr"])) == ["si_sdr", "segmental_snr"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": ["pesq"]}, "unknown metric pesq"),
        ({"enhanced": CLEAN[:-1]}, "differ in length"),
        ({"enhanced": np.zeros_like(CLEAN)}, "enhanced signal is silent"),
        ({"clean": np.zeros_like(CLEAN)}, "clean signal is silent"),
        ({"clean": None}, "need the clean signal"),
        ({"enhanced": np.where(np.arange(len(CLEAN)) == 5, np.nan, CLEAN)}, "enhanced holds .* not finite"),
        ({"clean": np.where(np.arange(len(CLEAN)) == 5, np.nan, CLEAN)}, "clean holds .* not finite"),
        ({"sample_rate": 48000}, "at 16000 Hz"),
        ({"enhanced": CLEAN[None]}, "one channel"),
        ({"clean": CLEAN[:3000], "enhanced": CLEAN[:3000], "metrics": ["stoi"]}, "less than 0.4 s"),
        ({"clean": CLEAN[:3000], "enhanced": CLEAN[:3000], "metrics": ["pesq_wb"]}, "PESQ has no score"),
    ],
)
def test_what_has_no_score_is_refused_in_a_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        score_pair(**{**pair(0.01), **changes})
