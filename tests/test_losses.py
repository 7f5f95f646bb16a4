"""The losses against NumPy formulas in float64, against `pesq` and `pystoi`, and on signals that break losses."""

import inspect

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from qse.losses import composite as losses
from qse.losses import pesq as pesq_loss
from qse.losses import stft as spectra
from qse.losses import stoi as stoi_loss

LOSSES = {
    "mrstft": losses.multi_resolution_stft,
    "si_sdr": losses.si_sdr,
    "snr": losses.snr,
    "rms": losses.rms,
    "complex_l1": losses.complex_l1,
    "pesq": losses.pesq,
    "compressed": losses.compressed_spectrum,
    "stoi": losses.stoi,
}
each_loss = pytest.mark.parametrize("name", LOSSES)


def speech_like(seed: int, seconds: float = 2.0) -> np.ndarray:
    """Voiced syllables (harmonics through three moving resonances), hisses and pauses at 16 kHz, RMS 0.05."""
    rng = np.random.default_rng(seed)
    voice, parts = rng.uniform(90, 220), []
    while sum(map(len, parts)) < seconds * 16000:
        length = int(rng.integers(1600, 4000))
        time = np.arange(length) / 16000
        pitch = 2 * np.pi * np.cumsum(voice * (1 + 0.1 * np.sin(2 * np.pi * 3 * time + rng.uniform(0, 6)))) / 16000
        formants = rng.uniform((300, 900, 2300), (800, 2200, 3500))
        syllable = np.zeros(length)
        for k in range(1, int(7500 / voice)):
            gain = sum(1 / (1 + ((k * voice - formant) / 120) ** 2) for formant in formants) + 0.01
            syllable += gain / k**0.5 * np.cos(k * pitch + k)
        hiss = np.diff(rng.standard_normal(length // 3 + 1)) * 0.3
        parts += [syllable * np.hanning(length), hiss * np.hanning(len(hiss)), np.zeros(int(rng.integers(0, 2400)))]
    audio = np.concatenate(parts)[: int(seconds * 16000)] + 1e-4 * rng.standard_normal(int(seconds * 16000))
    return 0.05 * audio / np.sqrt(np.mean(audio**2))


def coloured_noise(seed: int, slope: float, like: np.ndarray, snr: float) -> np.ndarray:
    """Noise with power ~ 1 / f^slope at `snr` dB below `like`."""
    rng = np.random.default_rng(seed)
    spec = np.fft.rfft(rng.standard_normal(len(like)))
    noise = np.fft.irfft(spec / np.arange(1, len(spec) + 1) ** (slope / 2), len(like))
    return noise * np.sqrt(np.mean(like**2) / np.mean(noise**2)) * 10 ** (-snr / 20)


@pytest.fixture(scope="module")
def pair() -> tuple[torch.Tensor, torch.Tensor]:
    """(2, 12800) float64 clean and enhanced."""
    clean = np.stack([speech_like(seed, 0.8) for seed in (1, 2)])
    enhanced = np.stack([0.8 * x + coloured_noise(7, 1, x, 5) for x in clean])
    return torch.tensor(clean), torch.tensor(enhanced)


def numpy_stft(x: torch.Tensor, n_fft: int, hop_length: int, win_length: int) -> np.ndarray:
    """(B, N) -> (B, T, F), frame by frame."""
    window = np.zeros(n_fft)
    start = (n_fft - win_length) // 2
    window[start : start + win_length] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win_length) / win_length)
    padded = np.pad(x.numpy(), ((0, 0), (n_fft // 2, n_fft // 2)), mode="reflect")
    starts = range(0, padded.shape[1] - n_fft + 1, hop_length)
    return np.stack([np.fft.rfft(padded[:, s : s + n_fft] * window) for s in starts], axis=1)


def numpy_mrstft(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    values = []
    for resolution in ((512, 50, 240), (1024, 120, 600), (2048, 240, 1200)):
        target, guess = (np.maximum(np.abs(numpy_stft(x, *resolution)), 1e-4) for x in (clean, enhanced))
        for s, g in zip(target, guess, strict=True):
            values.append(np.linalg.norm(s - g) / np.linalg.norm(s) + np.mean(np.abs(np.log(s / g))))
    return float(np.mean(values))


def numpy_si_sdr(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    values = []
    for x, y in zip(clean.numpy(), enhanced.numpy(), strict=True):
        scale = np.linalg.lstsq(x[:, None], y, rcond=None)[0]
        values.append(20 * np.log10(np.linalg.norm(scale * x) / np.linalg.norm(y - scale * x)))
    return -float(np.mean(values))


def numpy_snr(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    ratios = np.linalg.norm((enhanced - clean).numpy(), axis=1) / np.linalg.norm(clean.numpy(), axis=1)
    return float(np.mean(10 * np.log10(ratios**2 + 1e-3)))


def numpy_complex_l1(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    error = numpy_stft(enhanced, 512, 128, 512) - numpy_stft(clean, 512, 128, 512)
    return float(np.mean(np.abs(error.real) + np.abs(error.imag)))


def numpy_compressed(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    s, g = (numpy_stft(x, 512, 128, 512) for x in (clean, enhanced))
    s_mag, g_mag = np.maximum(np.abs(s), 1e-4), np.maximum(np.abs(g), 1e-4)
    complex_error = np.mean(np.abs(s / s_mag**0.7 - g / g_mag**0.7) ** 2)
    return float(0.3 * complex_error + 0.7 * np.mean((s_mag**0.3 - g_mag**0.3) ** 2))


REFERENCES = {
    "mrstft": numpy_mrstft,
    "si_sdr": numpy_si_sdr,
    "snr": numpy_snr,
    "rms": lambda c, e: float(np.mean(np.sqrt(np.mean((e - c).numpy() ** 2, axis=1)))),
    "complex_l1": numpy_complex_l1,
    "compressed": numpy_compressed,
}


@pytest.mark.parametrize("name", REFERENCES)
def test_value_is_the_formula(name, pair):
    clean, enhanced = pair
    tolerance = 1e-3 if name in ("si_sdr", "snr") else 1e-9  # these two bend where they end
    assert LOSSES[name](clean=clean, enhanced=enhanced).item() == pytest.approx(
        REFERENCES[name](clean, enhanced), rel=tolerance
    )


@each_loss
def test_is_least_at_the_clean_signal(name, pair):
    clean, enhanced = pair
    least = LOSSES[name](clean=clean, enhanced=clean.clone()).item()
    assert least == pytest.approx({"si_sdr": -50, "snr": -30}.get(name, 0), abs=0.05 if name == "snr" else 1e-9)
    assert LOSSES[name](clean=clean, enhanced=enhanced).item() > least + 1e-3


@each_loss
def test_batch_is_the_mean_of_its_items(name, pair):
    clean, enhanced = pair
    alone = [LOSSES[name](clean=c[None], enhanced=e[None]).item() for c, e in zip(clean, enhanced, strict=True)]
    assert LOSSES[name](clean=clean, enhanced=enhanced).item() == pytest.approx(np.mean(alone), rel=1e-9)
    assert abs(alone[0] - alone[1]) > 1e-4  # the items differ, so the mean says something


@each_loss
def test_gradient_is_that_of_finite_differences(name, pair):
    clean, enhanced = pair[0][:1], pair[1][:1].clone().requires_grad_()
    generator = torch.Generator().manual_seed(3)
    direction = torch.randn(enhanced.shape, generator=generator, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(LOSSES[name](clean=clean, enhanced=enhanced), enhanced)
    step = 1e-8
    ahead, behind = (LOSSES[name](clean=clean, enhanced=enhanced + s * direction).item() for s in (step, -step))
    assert (gradient * direction).sum().item() == pytest.approx((ahead - behind) / (2 * step), rel=1e-4)


@each_loss
@pytest.mark.parametrize("level", [0.0, 1e-30, 1e-20, 1e-8, 1.0])
def test_value_and_gradient_are_finite_on_silence(name, level, pair):
    loud, silent = pair[0].float(), pair[1].float() * level
    half = loud * (torch.arange(loud.shape[1]) < loud.shape[1] // 2)
    for clean, start in [(loud, silent), (silent, loud), (silent, silent), (silent, 2 * silent), (half, half)]:
        enhanced = start.clone().requires_grad_()
        value = LOSSES[name](clean=clean, enhanced=enhanced)
        value.backward()
        assert value.isfinite() and enhanced.grad.isfinite().all()
        assert enhanced.grad.norm() < 2e4


def test_total_silence_is_pulled_towards_the_clean_signal(pair):
    enhanced = torch.zeros_like(pair[0]).requires_grad_()
    losses.composite(losses.LossConfig(), clean=pair[0], enhanced=enhanced)[0].backward()
    assert (enhanced.grad * pair[0]).sum() < 0


@pytest.mark.parametrize("gain", [1e-2, 0.5, 30.0])
def test_si_sdr_ignores_level(gain, pair):
    clean, enhanced = pair
    value = losses.si_sdr(clean=clean, enhanced=enhanced).item()
    assert losses.si_sdr(clean=clean, enhanced=gain * enhanced).item() == pytest.approx(value, abs=1e-6)
    assert losses.si_sdr(clean=gain * clean, enhanced=enhanced).item() == pytest.approx(value, abs=1e-6)


def test_snr_is_si_sdr_when_clean_is_in_it_at_its_level(pair):
    clean, enhanced = pair
    level = clean.square().sum(1, keepdim=True) / (clean * enhanced).sum(1, keepdim=True)
    blind = losses.si_sdr(clean=clean, enhanced=enhanced).item()
    assert losses.snr(clean=clean, enhanced=level * enhanced).item() == pytest.approx(blind, abs=0.1)
    for gain in (0.01, 4.0):
        assert losses.snr(clean=clean, enhanced=gain * level * enhanced).item() > blind


def test_snr_asks_for_silence_where_clean_is_silent():
    noise = torch.randn(2, 16000, dtype=torch.float64)
    noise /= noise.square().mean(1, keepdim=True).sqrt()
    for level, expected in ((-50, 30), (-70, 10), (-110, 0)):
        enhanced = 10 ** (level / 20) * noise
        assert losses.snr(clean=0 * noise, enhanced=enhanced).item() == pytest.approx(expected, abs=0.5)


def test_pesq_has_nothing_to_say_of_silence():
    noise = 0.01 * torch.randn(2, 16000, dtype=torch.float64)
    clean = torch.stack([torch.zeros(16000, dtype=torch.float64), noise[0]])
    alone = losses.pesq(clean=clean[1:], enhanced=noise[1:]).item()
    assert losses.pesq(clean=clean, enhanced=noise).item() == pytest.approx(alone / 2) and alone > 0.1


def test_si_sdr_of_an_orthogonal_error_is_its_ratio():
    time = torch.arange(1600, dtype=torch.float64) / 1600
    clean, error = torch.sin(2 * torch.pi * 5 * time), 0.1 * torch.sin(2 * torch.pi * 8 * time)
    assert losses.si_sdr(clean=clean[None], enhanced=(clean + error)[None]).item() == pytest.approx(-20, abs=0.01)


def test_terms_are_keyword_only_and_reject_other_shapes(pair):
    clean = pair[0]
    for loss in LOSSES.values():
        assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(loss).parameters.values())
        for wrong in (clean[:, :-1], clean[:1], clean[0]):
            with pytest.raises(ValueError, match="must both be"):
                loss(clean=clean, enhanced=wrong)


def test_composite_is_equation_70(pair):
    clean, enhanced = pair
    total, values = losses.composite(losses.LossConfig(), clean=clean, enhanced=enhanced)
    assert set(values) == {"mrstft", "si_sdr", "rms", "complex_l1", "pesq"}
    expected = {name: LOSSES[name](clean=clean, enhanced=enhanced).item() for name in values}
    expected["si_sdr"] /= 10
    assert {name: value.item() for name, value in values.items()} == pytest.approx(expected)
    by_hand = 3.5 * expected["mrstft"] + 2 * expected["si_sdr"] + expected["rms"] + 2.5 * expected["complex_l1"]
    assert total.item() == pytest.approx(by_hand + expected["pesq"])


def test_composite_does_not_compute_a_term_of_weight_zero(pair, monkeypatch):
    monkeypatch.delattr(losses, "pesq")
    monkeypatch.delattr(losses, "multi_resolution_stft")
    config = losses.LossConfig(mrstft=0, pesq=0, compressed=2, n_fft=400, hop_length=100)
    _, values = losses.composite(config, clean=pair[0], enhanced=pair[1])
    assert set(values) == {"si_sdr", "rms", "complex_l1", "compressed"}
    fine = losses.complex_l1(clean=pair[0], enhanced=pair[1], n_fft=400, hop_length=100)
    assert values["complex_l1"].item() == pytest.approx(fine.item())


@pytest.mark.parametrize("n_fft, hop_length, win_length", [(512, 50, 240), (2048, 240, 1200), (512, 256, 512)])
def test_power_spectrum_and_its_gradient_are_those_of_torch_stft(n_fft, hop_length, win_length, pair):
    x = pair[0].clone().requires_grad_()
    window = torch.hann_window(win_length, dtype=x.dtype)
    ours = spectra.power_spectrum(x, n_fft, hop_length, win_length)
    spec = torch.stft(x, n_fft, hop_length, win_length, window, return_complex=True)
    theirs = spec.abs().square().transpose(1, 2)
    weights = torch.rand(ours.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    gradients = [torch.autograd.grad((power * weights).sum(), x)[0] for power in (ours, theirs)]
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-12)


def predicted(clean: np.ndarray, enhanced: np.ndarray) -> float:
    clean, enhanced = (torch.tensor(x[None], dtype=torch.float32) for x in (clean, enhanced))
    return pesq_loss.predicted_pesq(clean=clean, enhanced=enhanced).item()


@pytest.mark.parametrize("slope", [0, 1, 2])
def test_predicted_pesq_rises_with_snr(slope):
    clean = speech_like(5)
    scores = [predicted(clean, clean + coloured_noise(6, slope, clean, snr)) for snr in range(-10, 61, 5)]
    assert np.all(np.diff(scores) > 0) and scores[0] < 1.3 and scores[-1] > 4


def test_predicted_pesq_correlates_with_the_package():
    """Pearson's r above 0.99 and no error above 0.25 over voices, noise colours, SNRs, with and without a denoiser."""
    package = pytest.importorskip("pesq")
    scores = []
    for seed in range(6):
        clean = speech_like(seed, 3.0)
        for snr in (-2.5, 5, 12.5, 20, 30):
            enhanced = clean + coloured_noise(seed + 50, seed % 3, clean, snr)
            if seed >= 4:  # a crude denoiser: musical noise and missing speech instead of added noise
                spec = torch.stft(torch.tensor(enhanced), 512, window=torch.hann_window(512), return_complex=True)
                gate = (spec.abs() / spec.abs().median(dim=1, keepdim=True).values / 3).clamp(0.1, 1)
                enhanced = torch.istft(spec * gate, 512, window=torch.hann_window(512), length=len(clean)).numpy()
            scores.append((package.pesq(16000, clean, enhanced, "wb"), predicted(clean, enhanced)))
    reference, ours = np.array(scores).T
    assert np.ptp(reference) > 2
    assert np.corrcoef(reference, ours)[0, 1] > 0.99
    assert np.abs(ours - reference).max() < 0.25


def test_pesq_ignores_level_and_keeps_its_bounds(pair):
    clean, enhanced = pair
    value = losses.pesq(clean=clean, enhanced=enhanced).item()
    assert losses.pesq(clean=0.1 * clean, enhanced=3 * enhanced).item() == pytest.approx(value, rel=1e-6)
    generator = torch.Generator().manual_seed(0)
    worst = losses.pesq(clean=clean, enhanced=torch.randn(clean.shape, generator=generator, dtype=clean.dtype)).item()
    assert value < worst <= 0.1 * 45 + 0.0309 * 45


def test_predicted_stoi_correlates_with_the_package():
    """Pearson's r above 0.99 and no error above 0.03 over voices, noise colours and SNRs."""
    package = pytest.importorskip("pystoi")
    scores = []
    for seed in range(6):
        clean = speech_like(seed, 3.0)
        for snr in (-15, -5, 5, 15):
            enhanced = clean + coloured_noise(seed + 50, seed % 3, clean, snr)
            ours = stoi_loss.predicted_stoi(clean=torch.tensor(clean[None]), enhanced=torch.tensor(enhanced[None]))
            scores.append((package.stoi(clean, enhanced, 16000), ours.item()))
    reference, ours = np.array(scores).T
    assert np.ptp(reference) > 0.4
    assert np.corrcoef(reference, ours)[0, 1] > 0.99
    assert np.abs(ours - reference).max() < 0.03


def test_stoi_ignores_level_and_what_is_said_in_silence(pair):
    clean, enhanced = pair[0], pair[1]
    value = losses.stoi(clean=clean, enhanced=enhanced).item()
    assert losses.stoi(clean=0.5 * clean, enhanced=3 * enhanced).item() == pytest.approx(value, rel=1e-3)
    pause = torch.zeros(2, 8000, dtype=clean.dtype)
    longer = [torch.cat([x, pause + level], 1) for x, level in ((clean, 0), (enhanced, 1e-3))]
    assert losses.stoi(clean=longer[0], enhanced=longer[1]).item() == pytest.approx(value, abs=0.02)
    assert losses.stoi(clean=clean[:, :3000], enhanced=enhanced[:, :3000]).item() == 1  # too short to say


def test_pesq_in_inference_mode_leaves_training_alone(pair):
    clean, enhanced = pair
    pesq_loss._ear.cache_clear()
    with torch.inference_mode():
        losses.pesq(clean=clean, enhanced=enhanced)
    guess = enhanced.clone().requires_grad_()
    losses.pesq(clean=clean, enhanced=guess).backward()
    assert guess.grad.norm() > 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@each_loss
def test_cuda_gives_the_same(name, pair):
    values = {}
    for device in ("cpu", "cuda"):
        clean, enhanced = (x.to(device) for x in pair)
        enhanced = enhanced.clone().requires_grad_()
        value = LOSSES[name](clean=clean, enhanced=enhanced)
        value.backward()
        values[device] = torch.cat([value.detach().cpu()[None], enhanced.grad.cpu().flatten()])
    torch.testing.assert_close(values["cpu"], values["cuda"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"mrstft": 0, "si_sdr": 0, "rms": 0, "complex_l1": 0, "pesq": 0}, "all weights are 0"),
        ({"si_sdr_unit": 0.0}, "si_sdr_unit = 0.0: must be above 0"),
        ({"hop_length": 0}, "hop_length = 0: must be above 0"),
    ],
)
def test_a_loss_that_cannot_be_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        losses.LossConfig(**wrong)
