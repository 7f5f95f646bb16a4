"""The PESQ loss against the package pesq, and its bounds."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from loss_signals import coloured_noise, speech_like

from qse.losses import pesq_loss
from qse.losses.pesq_loss import pesq


def predicted(clean: np.ndarray, enhanced: np.ndarray) -> float:
    clean = torch.tensor(clean[None], dtype=torch.float32)
    enhanced = torch.tensor(enhanced[None], dtype=torch.float32)
    return pesq_loss.predicted_pesq(clean=clean, enhanced=enhanced).item()


def test_pesq_of_silence_is_zero():
    noise = 0.01 * torch.randn(2, 16000, dtype=torch.float64)
    clean = torch.stack([torch.zeros(16000, dtype=torch.float64), noise[0]])
    alone = pesq(clean=clean[1:], enhanced=noise[1:]).item()
    assert pesq(clean=clean, enhanced=noise).item() == pytest.approx(alone / 2) and alone > 0.1


def test_gain_is_smoothed_recursively():
    """As the reference code of P.862 does it, over many frames after a large ratio."""
    gain = 1e4 * torch.rand(3, 50, dtype=torch.float64) ** 8
    gain[0, 5:] = 1.0
    gain[0, 4] = 1e5
    expected = [gain[:, 0]]
    for frame in gain[:, 1:].unbind(1):
        expected.append(0.2 * expected[-1] + 0.8 * frame)
    torch.testing.assert_close(
        pesq_loss._smoothed(gain), torch.stack(expected, 1), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("level", [0.0, 0.05])
def test_predicted_pesq_of_gaps_is_that_of_the_package(level):
    package = pytest.importorskip("pesq")
    clean = speech_like(1, 4.0)
    gaps = clean.copy()
    for start in range(4000, len(gaps) - 4000, 8000):
        gaps[start : start + 2048] *= level
    reference = package.pesq(16000, clean, gaps, "wb")
    assert predicted(clean, gaps) == pytest.approx(reference, abs=0.06)


@pytest.mark.parametrize("slope", [0, 1, 2])
def test_predicted_pesq_rises_with_snr(slope):
    clean = speech_like(5)
    scores = [
        predicted(clean, clean + coloured_noise(6, slope, clean, snr)) for snr in range(-10, 61, 5)
    ]
    assert np.all(np.diff(scores) > 0) and scores[0] < 1.3 and scores[-1] > 4


def test_predicted_pesq_correlates_with_the_package():
    """Pearson's r above 0.99 and no error above 0.25 over voices, noise colours, SNRs, with and
    without a denoiser."""
    package = pytest.importorskip("pesq")
    scores = []
    for seed in range(6):
        clean = speech_like(seed, 3.0)
        for snr in (-2.5, 5, 12.5, 20, 30):
            enhanced = clean + coloured_noise(seed + 50, seed % 3, clean, snr)
            # a crude denoiser: musical noise and missing speech instead of added noise
            if seed >= 4:
                spec = torch.stft(
                    torch.tensor(enhanced), 512, window=torch.hann_window(512), return_complex=True
                )
                gate = (spec.abs() / spec.abs().median(dim=1, keepdim=True).values / 3).clamp(
                    0.1, 1
                )
                enhanced = torch.istft(
                    spec * gate, 512, window=torch.hann_window(512), length=len(clean)
                ).numpy()
            scores.append((package.pesq(16000, clean, enhanced, "wb"), predicted(clean, enhanced)))
    reference, ours = np.array(scores).T
    assert np.ptp(reference) > 2
    assert np.corrcoef(reference, ours)[0, 1] > 0.99
    assert np.abs(ours - reference).max() < 0.25


def test_bands_of_pesq_hold_the_power_of_white_noise_by_their_width():
    """They are equally wide in Bark, behind the filter of P.862.2. The lowest ones are hardly wider
    than a bin."""
    _, bands = pesq_loss._filters()
    edges = 650 * np.sinh(np.arange(50) * pesq_loss.BAND_WIDTH / 7)  # Hz
    middle = (edges[1:] + edges[:-1]) / 2
    expected = np.diff(edges) * middle**4 / (middle**4 + 200.0**4)
    density = bands.sum(0) / expected
    np.testing.assert_allclose(density[5:48], density[47], rtol=0.02)


def test_pesq_ignores_level_and_keeps_its_bounds(pair):
    clean, enhanced = pair
    value = pesq(clean=clean, enhanced=enhanced).item()
    assert pesq(clean=0.1 * clean, enhanced=3 * enhanced).item() == pytest.approx(value, rel=1e-6)
    generator = torch.Generator().manual_seed(0)
    worst = pesq(
        clean=clean, enhanced=torch.randn(clean.shape, generator=generator, dtype=clean.dtype)
    ).item()
    assert value < worst <= 0.1 * 45 + 0.0309 * 45


def test_pesq_in_inference_mode_leaves_training_alone(pair):
    clean, enhanced = pair
    pesq_loss._ear.cache_clear()
    with torch.inference_mode():
        pesq(clean=clean, enhanced=enhanced)
    guess = enhanced.clone().requires_grad_()
    pesq(clean=clean, enhanced=guess).backward()
    assert guess.grad.norm() > 0
