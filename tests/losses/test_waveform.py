"""SI-SDR and SNR: what the level does to them."""

import pytest

torch = pytest.importorskip("torch")

from qse.losses.waveform import si_sdr, snr


@pytest.mark.parametrize("gain", [1e-2, 0.5, 30.0])
def test_si_sdr_ignores_level(gain, pair):
    clean, enhanced = pair
    value = si_sdr(clean=clean, enhanced=enhanced).item()
    assert si_sdr(clean=clean, enhanced=gain * enhanced).item() == pytest.approx(value, abs=1e-6)
    assert si_sdr(clean=gain * clean, enhanced=enhanced).item() == pytest.approx(value, abs=1e-6)


def test_snr_is_si_sdr_at_the_clean_level(pair):
    clean, enhanced = pair
    level = clean.square().sum(1, keepdim=True) / (clean * enhanced).sum(1, keepdim=True)
    blind = si_sdr(clean=clean, enhanced=enhanced).item()
    assert snr(clean=clean, enhanced=level * enhanced).item() == pytest.approx(blind, abs=0.1)
    for gain in (0.01, 4.0):
        assert snr(clean=clean, enhanced=gain * level * enhanced).item() > blind


def test_snr_of_silence_is_the_enhanced_level():
    noise = torch.randn(2, 16000, dtype=torch.float64)
    noise /= noise.square().mean(1, keepdim=True).sqrt()
    for level, expected in ((-50, 30), (-70, 10), (-110, 0)):
        enhanced = 10 ** (level / 20) * noise
        assert snr(clean=0 * noise, enhanced=enhanced).item() == pytest.approx(expected, abs=0.5)


def test_si_sdr_of_an_orthogonal_error_is_its_ratio():
    time = torch.arange(1600, dtype=torch.float64) / 1600
    clean = torch.sin(2 * torch.pi * 5 * time)
    error = 0.1 * torch.sin(2 * torch.pi * 8 * time)
    assert si_sdr(clean=clean[None], enhanced=(clean + error)[None]).item() == pytest.approx(
        -20, abs=0.01
    )
