"""Residual noise in pauses and attenuated speech."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from loss_signals import speech_like

from qse.losses.loss_config import LossConfig
from qse.losses.suppression import FRAME_LENGTH, noise_floor, over_attenuation
from qse.losses.weighted_sum import WeightedSum


@pytest.fixture
def signals():
    """(2, 12800) float64: speech in the first half; with noise everywhere; with that noise less 20
    and 6 dB."""
    speech = torch.tensor(np.stack([speech_like(seed, 0.8) for seed in (1, 2)]))
    clean = speech * (torch.arange(12800) < 6400)
    noise = 0.01 * torch.randn(2, 12800, dtype=torch.float64)
    return clean, clean + noise, clean + torch.tensor([[0.1], [0.5]], dtype=torch.float64) * noise


def frames(x):
    return x.unfold(1, FRAME_LENGTH, FRAME_LENGTH)


def test_noise_floor_is_the_residual_level_in_pauses(signals):
    clean, noisy, enhanced = signals
    assert noise_floor(clean=clean, enhanced=noisy, noisy=noisy).item() == pytest.approx(
        0, abs=1e-9
    )
    clean = torch.cat([clean[:, :6400] + 0.01, clean[:, 6400:]], 1)  # no pauses in the first half
    found = noise_floor(clean=clean, enhanced=enhanced, noisy=noisy).item()
    assert found == pytest.approx((-20 - 6.02) / 2, abs=0.01)
    loud = enhanced + 5 * clean  # frames with speech do not count
    assert noise_floor(clean=clean, enhanced=loud, noisy=noisy).item() == pytest.approx(
        found, abs=1e-6
    )


def test_noise_floor_is_a_mean_over_noise_only_frames():
    """Against NumPy, item by item: silent clean frames, noisy ones that are silent as well, noise
    only."""
    rng = np.random.default_rng(0)
    clean, noisy, enhanced = rng.standard_normal((3, 3, 10 * FRAME_LENGTH))
    clean[0, : 4 * FRAME_LENGTH] = 0
    clean[1, : 6 * FRAME_LENGTH] *= 1e-3  # 60 dB below the loudest frame
    clean[2] = 0
    noisy[0, :FRAME_LENGTH] = 0
    means = []
    for item in range(3):
        c = np.mean(clean[item].reshape(10, -1) ** 2, axis=1)
        e = np.mean(enhanced[item].reshape(10, -1) ** 2, axis=1)
        n = np.mean(noisy[item].reshape(10, -1) ** 2, axis=1)
        means.append(
            np.mean(
                [
                    10 * np.log10(e[t] / n[t])
                    for t in range(10)
                    if c[t] <= 1e-5 * max(c) and n[t] > 1e-8
                ]
            )
        )
    clean, enhanced, noisy = map(torch.tensor, (clean, enhanced, noisy))
    assert noise_floor(clean=clean, enhanced=enhanced, noisy=noisy).item() == pytest.approx(
        np.mean(means), abs=1e-6
    )


def test_noise_floor_does_not_saturate(signals):
    """Each halving of the residue counts 6 dB, far below the point where SNR saturates."""
    _, noise, _ = signals
    noise = noise[:, 6400:]
    levels = [
        noise_floor(clean=0 * noise, enhanced=0.5**n * noise, noisy=noise).item() for n in range(7)
    ]
    np.testing.assert_allclose(np.diff(levels), -6.02, atol=0.05)


def test_noise_floor_without_pauses_is_zero(signals):
    clean, noisy, enhanced = signals
    assert noise_floor(clean=clean + 0.01, enhanced=enhanced, noisy=noisy).item() == 0


def test_noise_floor_gradient_lowers_the_residue_in_pauses_only(signals):
    clean, noisy, enhanced = signals
    enhanced = enhanced.clone().requires_grad_()
    noise_floor(clean=clean, enhanced=enhanced, noisy=noisy).backward()
    pause = slice(6400, None)
    assert (enhanced.grad[:, pause] * enhanced[:, pause]).sum() > 0
    spoken = frames(clean).square().mean(2) > 1e-4
    assert spoken.any() and not frames(enhanced.grad)[spoken].any()


@pytest.mark.parametrize("level", [0.0, 1e-30, 1e-10, 1e-5, 1.0])
def test_noise_floor_is_finite_on_silence(level, signals):
    clean, noisy, _ = (x.float() for x in signals)
    for c, n in ((clean, noisy), (0 * clean, noisy), (0 * clean, 0 * noisy), (clean, 0 * noisy)):
        enhanced = (level * noisy).requires_grad_()
        value = noise_floor(clean=c, enhanced=enhanced, noisy=n)
        value.backward()
        assert value.isfinite() and enhanced.grad.isfinite().all() and enhanced.grad.norm() < 2e4


def test_noise_floor_ignores_the_order_of_items(signals):
    clean, noisy, enhanced = signals
    value = noise_floor(clean=clean, enhanced=enhanced, noisy=noisy)
    flipped = noise_floor(clean=clean.flip(0), enhanced=enhanced.flip(0), noisy=noisy.flip(0))
    items = zip(clean[:, None], enhanced[:, None], noisy[:, None], strict=True)
    alone = [noise_floor(clean=c, enhanced=e, noisy=n) for c, e, n in items]
    torch.testing.assert_close(flipped, value)
    torch.testing.assert_close(torch.stack(alone).mean(), value)


def test_noise_floor_rejects_other_shapes(signals):
    clean, noisy, enhanced = signals
    with pytest.raises(ValueError, match="must both be"):
        noise_floor(clean=clean, enhanced=enhanced, noisy=noisy[:1])


def test_over_attenuation_counts_missing_speech_only(signals):
    clean, noisy, _ = signals
    assert over_attenuation(clean=clean, enhanced=clean.clone()).item() == 0
    assert over_attenuation(clean=clean, enhanced=2 * clean).item() == 0
    halves = [
        over_attenuation(clean=clean, enhanced=gain * clean).item() for gain in (0.5, 0.25, 0.0)
    ]
    assert 0 < halves[0] < halves[1] < halves[2] <= 1
    assert over_attenuation(clean=clean, enhanced=noisy).item() < halves[0]
    assert over_attenuation(clean=0 * clean, enhanced=noisy).item() == 0


def test_over_attenuation_of_a_gain_is_its_share():
    """White noise lies above the floor everywhere: with gain g the share is (1 - g^0.3)^2."""
    clean = torch.randn(1, 8000, dtype=torch.float64)
    found = over_attenuation(clean=clean, enhanced=0.5 * clean).item()
    assert found == pytest.approx((1 - 0.5**0.3) ** 2, rel=1e-6)


@pytest.mark.parametrize("gain, attenuated", [(0.5, True), (2.0, False)])
def test_over_attenuation_gradient_raises_attenuated_speech(signals, gain, attenuated):
    clean, *_ = signals
    enhanced = (gain * clean).requires_grad_()
    over_attenuation(clean=clean, enhanced=enhanced).backward()
    assert ((enhanced.grad * clean).sum() < 0).item() == enhanced.grad.any().item() == attenuated


def test_weighted_sum_includes_suppression_terms(signals):
    clean, noisy, enhanced = signals
    config = LossConfig(
        mrstft=0, si_sdr=0, rms=0, complex_l1=0, pesq=0, noise_floor=2.0, over_attenuation=3.0
    )
    total, terms = WeightedSum(config)(clean=clean, enhanced=enhanced, noisy=noisy)
    floor = noise_floor(clean=clean, enhanced=enhanced, noisy=noisy) / 10
    lost = over_attenuation(clean=clean, enhanced=enhanced)
    torch.testing.assert_close(terms, {"noise_floor": floor, "over_attenuation": lost})
    torch.testing.assert_close(total, 2 * floor + 3 * lost)
    with pytest.raises(ValueError, match="noise_floor needs the noisy signal"):
        WeightedSum(config)(clean=clean, enhanced=enhanced)
