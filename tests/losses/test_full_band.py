"""The band above 8 kHz in the losses, and the band below it at 16 kHz."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import scipy.signal

from qse.losses.full_band import HIGH_FLOOR, high_band_snr, to_wide_band
from qse.losses.loss_config import LossConfig
from qse.losses.waveform import SNR_LIMIT
from qse.losses.weighted_sum import WeightedSum

NONE = dict.fromkeys(("mrstft", "si_sdr", "rms", "complex_l1", "pesq"), 0.0)
RNG = np.random.default_rng(0)


def tone(frequency: float, samples: int = 48000, level: float = 0.1) -> torch.Tensor:
    """(1, samples) at 48 kHz, a whole number of periods."""
    return level * torch.sin(2 * torch.pi * frequency / 48000 * torch.arange(samples))[None]


def test_to_wide_band_equals_a_resampler():
    spectrum = np.fft.rfft(RNG.standard_normal(48000))
    spectrum[8000] = 0  # at half the new rate, where resamplers differ
    audio = np.fft.irfft(spectrum)
    expected = scipy.signal.resample(audio, 16000)
    np.testing.assert_allclose(
        to_wide_band(torch.from_numpy(audio)[None], 48000)[0], expected, atol=1e-9
    )


def test_to_wide_band_leaves_16_khz_alone():
    audio = torch.randn(2, 1000)
    torch.testing.assert_close(to_wide_band(audio, 16000), audio)


@pytest.mark.parametrize("error", [0.3, 0.01])
def test_high_band_snr_is_the_snr_of_the_band(error):
    clean = tone(1000) + tone(12000)
    # what lies below 8 kHz does not count
    enhanced = clean + tone(3000, level=0.5) + error * tone(15000)
    expected = 10 * np.log10(error**2 + 10**-3)
    assert high_band_snr(clean=clean, enhanced=enhanced, sample_rate=48000) == pytest.approx(
        expected, abs=0.01
    )


def test_high_band_snr_of_band_limited_speech_asks_for_silence():
    clean = torch.full((1, 48000), 0.1)
    quiet = high_band_snr(clean=clean, enhanced=clean + 1e-3 * tone(12000), sample_rate=48000)
    loud = high_band_snr(clean=clean, enhanced=clean + 1 * tone(12000), sample_rate=48000)
    for level, mean_square in ((quiet, 1e-8 / 2), (loud, 1e-2 / 2)):
        assert level == pytest.approx(10 * np.log10(mean_square / HIGH_FLOOR + 1), abs=0.05)
    assert -SNR_LIMIT <= high_band_snr(clean=clean, enhanced=clean, sample_rate=48000) <= 0


def test_weighted_sum_at_48_khz_measures_speech_as_at_16_khz():
    low = torch.from_numpy(RNG.standard_normal((2, 2 * 16000)) * 0.1).float()
    wide = {"clean": low, "enhanced": 0.7 * low + 0.02 * torch.randn_like(low)}
    full = {
        name: torch.from_numpy(scipy.signal.resample(x.numpy(), 96000, axis=1))
        for name, x in wide.items()
    }
    config = LossConfig(
        **{**NONE, "pesq": 1, "stoi": 1, "snr": 1, "compressed": 1, "over_attenuation": 1}
    )
    _, expected = WeightedSum(config)(**wide)
    _, found = WeightedSum(config)(**full, sample_rate=48000)
    for name in ("pesq", "stoi", "snr"):
        assert found[name] == pytest.approx(expected[name].item(), rel=1e-3)
    # a mean over bins, or with them, of which there are others
    for name in (
        "compressed",
        "over_attenuation",
    ):
        assert 0 < found[name] < 3 * expected[name]


@pytest.mark.parametrize("sample_rate", [8000, 24000, 48000])
def test_weighted_sum_measures_spectra_over_the_same_time_at_every_rate(sample_rate):
    """Sounds below 4 kHz have the same bins at every rate, so that the sums over bins are equal."""
    config = LossConfig(**{**NONE, "complex_l1": 1})
    low = {name: RNG.standard_normal((1, 8000)) for name in ("clean", "enhanced")}
    for x in low.values():
        x[:] = scipy.signal.sosfilt(scipy.signal.butter(8, 0.8, output="sos"), x) * np.hanning(8000)
    sums = []
    for rate in (16000, sample_rate):
        audio = {
            name: torch.from_numpy(scipy.signal.resample(x, rate, axis=1))
            for name, x in low.items()
        }
        found = WeightedSum(config)(**audio, sample_rate=rate)[1]
        sums.append(found["complex_l1"].item() * (rate / 16000 * 512 // 2 + 1))
    assert sums[1] == pytest.approx(sums[0], rel=0.01)


def test_weighted_sum_leaves_the_high_band_out_at_16_khz():
    config = LossConfig(**{**NONE, "snr": 1, "high_band": 1})
    audio = {"clean": torch.randn(1, 4800), "enhanced": torch.randn(1, 4800)}
    assert "high_band" not in WeightedSum(config)(**audio)[1]
    assert "high_band" in WeightedSum(config)(**audio, sample_rate=48000)[1]
