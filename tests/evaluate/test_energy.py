"""Energy ratios on constructed signals."""

import numpy as np
import pytest
from speech import SAMPLE_RATE, hiss, voice

from qse.evaluate.energy import (
    band_snr,
    log_spectral_distance,
    noise_reduction,
    pause_attenuation,
    si_sdr,
    speech_loss,
)

CLEAN = voice()
NOISE = hiss(len(CLEAN), 99)


def test_si_sdr_is_projection_over_rest_at_any_scale():
    rest = NOISE - CLEAN * (NOISE @ CLEAN) / (CLEAN @ CLEAN)  # orthogonal to CLEAN
    rest *= 0.1 * np.linalg.norm(CLEAN) / np.linalg.norm(rest)
    for scale in (1.0, 0.01, -3.0):
        assert si_sdr(clean=CLEAN, enhanced=scale * (CLEAN + rest)) == pytest.approx(20.0, abs=1e-9)
    assert si_sdr(clean=CLEAN, enhanced=rest) == pytest.approx(-100.0)
    assert si_sdr(clean=CLEAN, enhanced=CLEAN) == pytest.approx(100.0)


RATE = 48000
TIME = np.arange(RATE) / RATE


def tone(frequency: float, gain: float = 1.0) -> np.ndarray:
    """Return one second of a tone, faded in and out."""
    fade = np.minimum(1, np.minimum(TIME, TIME[::-1]) / 0.05)
    return gain * fade * np.sin(2 * np.pi * frequency * TIME)


def test_band_snr_counts_8_to_20_khz_alone():
    clean = tone(1000) + tone(12000, 0.1)
    error = tone(15000, 0.01) + tone(3000, 0.5) + tone(22000, 0.5)
    assert band_snr(clean=clean, enhanced=clean + error, sample_rate=RATE) == pytest.approx(
        20.0, abs=0.05
    )
    assert np.isnan(band_snr(clean=0 * clean, enhanced=error, sample_rate=RATE))
    with pytest.raises(ValueError, match="at least 40000 Hz"):
        band_snr(clean=clean, enhanced=clean, sample_rate=16000)


@pytest.mark.parametrize("gain, expected", [(1.0, 0.0), (0.1, 20.0), (2.0, -6.02), (0.0, 100.0)])
def test_noise_reduction_is_the_gain_of_noise_only_bins(gain, expected):
    """Speech at 1 kHz is removed as well, which does not count."""
    speech, noise = tone(1000), tone(5000, 0.2)
    found = noise_reduction(
        clean=speech, noisy=speech + noise, enhanced=gain * noise, sample_rate=RATE
    )
    assert found == pytest.approx(expected, abs=0.02)
    assert np.isnan(noise_reduction(clean=speech, noisy=speech, enhanced=speech, sample_rate=RATE))


@pytest.mark.parametrize("gain, expected", [(1.0, 0.0), (0.5, 75.0), (2.0, 0.0), (0.0, 100.0)])
def test_speech_loss_is_the_energy_removed_from_speech_bins(gain, expected):
    """Noise at 5 kHz is kept, which does not count; amplified speech does not make up for lost speech."""
    speech, noise = tone(1000), tone(5000, 0.2)
    found = speech_loss(
        clean=speech, noisy=speech + noise, enhanced=gain * speech + noise, sample_rate=RATE
    )
    assert found == pytest.approx(expected, abs=0.02)
    two = speech + tone(2000)
    found = speech_loss(clean=two, noisy=two + noise, enhanced=2 * speech, sample_rate=RATE)
    assert found == pytest.approx(50.0, abs=0.1)
    assert np.isnan(speech_loss(clean=0 * speech, noisy=noise, enhanced=noise, sample_rate=RATE))


def test_power_spectra_in_parts_change_nothing(monkeypatch):
    signals = {
        "clean": CLEAN,
        "noisy": CLEAN + 0.05 * NOISE,
        "enhanced": CLEAN + 0.01 * NOISE,
        "sample_rate": 16000,
    }
    together = noise_reduction(**signals), speech_loss(**signals)
    monkeypatch.setattr("qse.evaluate.energy.FRAMES_AT_ONCE", 17)
    assert (noise_reduction(**signals), speech_loss(**signals)) == pytest.approx(together)
    assert 10 < together[0] < 14.5 and 0 < together[1] < 1


def test_pause_attenuation_counts_quiet_clean_frames_alone():
    """Half a second of speech, then a pause of two halves of noise: one lowered by 10 dB, the other, longer, by 40."""
    noise = hiss(RATE, 3) + 0.5 * hiss(RATE, 4)
    clean = np.where(TIME < 0.5, tone(1000), 0)
    gain = np.where(TIME < 0.5, 1.0, np.where(TIME < 0.65, 10 ** (-10 / 20), 10 ** (-40 / 20)))
    found = pause_attenuation(
        clean=clean, noisy=clean + noise, enhanced=clean + gain * noise, sample_rate=RATE
    )
    share = 0.15 / 0.5
    expected = -10 * np.log10(share * 10**-1 + (1 - share) * 10**-4)
    assert found["pause_attenuation"] == pytest.approx(expected, abs=0.5)
    assert found["pause_attenuation_median"] == pytest.approx(40.0, abs=0.1)
    unchanged = pause_attenuation(
        clean=clean, noisy=clean + noise, enhanced=clean + noise, sample_rate=RATE
    )
    assert unchanged == {"pause_attenuation": 0.0, "pause_attenuation_median": 0.0}


def test_pause_attenuation_has_no_value_without_pauses():
    steady = np.sin(2 * np.pi * 1000 * TIME)
    found = pause_attenuation(
        clean=steady, noisy=steady + tone(3000), enhanced=steady, sample_rate=RATE
    )
    assert np.isnan(found["pause_attenuation"])
    silent = pause_attenuation(
        clean=tone(1000), noisy=tone(1000), enhanced=tone(1000), sample_rate=RATE
    )
    assert not np.isfinite(silent["pause_attenuation"]) or silent["pause_attenuation"] == 0


def test_log_spectral_distance_of_a_gain_and_by_its_definition():
    """Half the amplitude is 6.02 dB in each bin; else frame by frame."""
    noise = hiss(16000, 3)
    half = log_spectral_distance(clean=noise, enhanced=0.5 * noise, sample_rate=SAMPLE_RATE)
    assert half == pytest.approx(20 * np.log10(2), abs=1e-6)

    other = noise + 0.3 * hiss(16000, 4)
    frames = []
    for start in range(-256, 16000 - 256 + 1, 128):
        powers = []
        for signal in (noise, other):
            padded = np.pad(signal, 256)[start + 256 : start + 768] * np.hanning(513)[:512]
            powers.append(10 * np.log10(np.abs(np.fft.rfft(padded)) ** 2 + 1e-30))
        frames.append(np.sqrt(np.mean((powers[0] - powers[1]) ** 2)))
    found = log_spectral_distance(clean=noise, enhanced=other, sample_rate=SAMPLE_RATE)
    assert found == pytest.approx(np.mean(frames), rel=1e-3)
