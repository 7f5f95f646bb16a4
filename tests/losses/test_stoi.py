"""The STOI loss against the package pystoi."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from loss_signals import coloured_noise, speech_like

from qse.losses import stoi_loss
from qse.losses.stoi_loss import stoi


def test_predicted_stoi_correlates_with_the_package():
    """Pearson's r above 0.99 and no error above 0.03 over voices, noise colours and SNRs."""
    package = pytest.importorskip("pystoi")
    scores = []
    for seed in range(6):
        clean = speech_like(seed, 3.0)
        for snr in (-15, -5, 5, 15):
            enhanced = clean + coloured_noise(seed + 50, seed % 3, clean, snr)
            ours = stoi_loss.predicted_stoi(
                clean=torch.tensor(clean[None]), enhanced=torch.tensor(enhanced[None])
            )
            scores.append((package.stoi(clean, enhanced, 16000), ours.item()))
    reference, ours = np.array(scores).T
    assert np.ptp(reference) > 0.4
    assert np.corrcoef(reference, ours)[0, 1] > 0.99
    assert np.abs(ours - reference).max() < 0.03


def test_predicted_stoi_has_the_highest_band_of_the_package():
    """Noise in the bands around 3.0 and 3.8 kHz alone, which are the last two of 15."""
    package = pytest.importorskip("pystoi")
    clean = speech_like(0, 3.0)
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal(len(clean)))
    frequency = np.fft.rfftfreq(len(clean), 1 / 16000)
    spectrum[(frequency < 2700) | (frequency > 4200)] = 0
    enhanced = clean + 0.3 * np.fft.irfft(spectrum, len(clean))
    ours = stoi_loss.predicted_stoi(
        clean=torch.tensor(clean[None]), enhanced=torch.tensor(enhanced[None])
    )
    assert ours.item() == pytest.approx(package.stoi(clean, enhanced, 16000), abs=0.03)


def test_stoi_ignores_level_and_silent_frames(pair):
    clean = pair[0]
    enhanced = pair[1]
    value = stoi(clean=clean, enhanced=enhanced).item()
    assert stoi(clean=0.5 * clean, enhanced=3 * enhanced).item() == pytest.approx(value, rel=1e-3)
    pause = torch.zeros(2, 8000, dtype=clean.dtype)
    longer = [torch.cat([x, pause + level], 1) for x, level in ((clean, 0), (enhanced, 1e-3))]
    assert stoi(clean=longer[0], enhanced=longer[1]).item() == pytest.approx(value, abs=0.02)
    assert stoi(clean=clean[:, :3000], enhanced=enhanced[:, :3000]).item() == 1  # too short to say
