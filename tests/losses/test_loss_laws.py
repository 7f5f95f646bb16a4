"""Laws of all losses: formulas by NumPy in float64, gradients, batches, silence."""

import inspect

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from loss_signals import LOSSES

each_loss = pytest.mark.parametrize("name", LOSSES)


def numpy_stft(x: torch.Tensor, n_fft: int, hop_length: int, win_length: int) -> np.ndarray:
    """(B, N) -> (B, T, F), frame by frame."""
    window = np.zeros(n_fft)
    start = (n_fft - win_length) // 2
    window[start : start + win_length] = 0.5 - 0.5 * np.cos(
        2 * np.pi * np.arange(win_length) / win_length
    )
    padded = np.pad(x.numpy(), ((0, 0), (n_fft // 2, n_fft // 2)), mode="reflect")
    starts = range(0, padded.shape[1] - n_fft + 1, hop_length)
    return np.stack([np.fft.rfft(padded[:, s : s + n_fft] * window) for s in starts], axis=1)


def numpy_mrstft(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    values = []
    for resolution in ((512, 50, 240), (1024, 120, 600), (2048, 240, 1200)):
        target, guess = (
            np.maximum(np.abs(numpy_stft(x, *resolution)), 1e-4) for x in (clean, enhanced)
        )
        for s, g in zip(target, guess, strict=True):
            values.append(
                np.linalg.norm(s - g) / np.linalg.norm(s) + np.mean(np.abs(np.log(s / g)))
            )
    return float(np.mean(values))


def numpy_si_sdr(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    values = []
    for x, y in zip(clean.numpy(), enhanced.numpy(), strict=True):
        scale = np.linalg.lstsq(x[:, None], y, rcond=None)[0]
        values.append(20 * np.log10(np.linalg.norm(scale * x) / np.linalg.norm(y - scale * x)))
    return -float(np.mean(values))


def numpy_snr(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    ratios = np.linalg.norm((enhanced - clean).numpy(), axis=1) / np.linalg.norm(
        clean.numpy(), axis=1
    )
    return float(np.mean(10 * np.log10(ratios**2 + 1e-3)))


def numpy_complex_l1(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    error = numpy_stft(enhanced, 512, 128, 512) - numpy_stft(clean, 512, 128, 512)
    return float(np.mean(np.abs(error.real) + np.abs(error.imag)))


def numpy_compressed(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    s, g = (numpy_stft(x, 512, 128, 512) for x in (clean, enhanced))
    s_mag = np.maximum(np.abs(s), 1e-4)
    g_mag = np.maximum(np.abs(g), 1e-4)
    complex_error = np.mean(np.abs(s / s_mag**0.7 - g / g_mag**0.7) ** 2)
    return float(0.3 * complex_error + 0.7 * np.mean((s_mag**0.3 - g_mag**0.3) ** 2))


def numpy_over_attenuation(clean: torch.Tensor, enhanced: torch.Tensor) -> float:
    s, g = (
        np.maximum(np.abs(numpy_stft(x, 512, 128, 512)), 1e-4) ** 0.3 for x in (clean, enhanced)
    )
    return float(np.mean(np.sum(np.where(g < s, s - g, 0) ** 2, (1, 2)) / np.sum(s**2, (1, 2))))


REFERENCES = {
    "mrstft": numpy_mrstft,
    "si_sdr": numpy_si_sdr,
    "snr": numpy_snr,
    "rms": lambda c, e: float(np.mean(np.sqrt(np.mean((e - c).numpy() ** 2, axis=1)))),
    "complex_l1": numpy_complex_l1,
    "compressed": numpy_compressed,
    "over_attenuation": numpy_over_attenuation,
}


@pytest.mark.parametrize("name", REFERENCES)
def test_losses_equal_numpy_formulas(name, pair):
    clean, enhanced = pair
    tolerance = 1e-3 if name in ("si_sdr", "snr") else 1e-9  # these two bend where they end
    assert LOSSES[name](clean=clean, enhanced=enhanced).item() == pytest.approx(
        REFERENCES[name](clean, enhanced), rel=tolerance
    )


@each_loss
def test_losses_are_least_at_the_clean_signal(name, pair):
    clean, enhanced = pair
    least = LOSSES[name](clean=clean, enhanced=clean.clone()).item()
    assert least == pytest.approx(
        {"si_sdr": -50, "snr": -30}.get(name, 0), abs=0.05 if name == "snr" else 1e-9
    )
    assert LOSSES[name](clean=clean, enhanced=enhanced).item() > least + 1e-3


@each_loss
def test_losses_are_means_over_the_batch(name, pair):
    clean, enhanced = pair
    alone = [
        LOSSES[name](clean=c[None], enhanced=e[None]).item()
        for c, e in zip(clean, enhanced, strict=True)
    ]
    assert LOSSES[name](clean=clean, enhanced=enhanced).item() == pytest.approx(
        np.mean(alone), rel=1e-9
    )
    assert abs(alone[0] - alone[1]) > 1e-4  # the items differ, so the mean says something


@each_loss
def test_losses_have_the_gradient_of_differences(name, pair):
    clean = pair[0][:1]
    enhanced = pair[1][:1].clone().requires_grad_()
    generator = torch.Generator().manual_seed(3)
    direction = torch.randn(enhanced.shape, generator=generator, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(LOSSES[name](clean=clean, enhanced=enhanced), enhanced)
    step = 1e-8
    ahead, behind = (
        LOSSES[name](clean=clean, enhanced=enhanced + s * direction).item() for s in (step, -step)
    )
    assert (gradient * direction).sum().item() == pytest.approx(
        (ahead - behind) / (2 * step), rel=1e-4
    )


@each_loss
@pytest.mark.parametrize("level", [0.0, 1e-30, 1e-20, 1e-8, 1.0])
def test_losses_are_finite_on_silence(name, level, pair):
    loud = pair[0].float()
    silent = pair[1].float() * level
    half = loud * (torch.arange(loud.shape[1]) < loud.shape[1] // 2)
    for clean, start in [
        (loud, silent),
        (silent, loud),
        (silent, silent),
        (silent, 2 * silent),
        (half, half),
    ]:
        enhanced = start.clone().requires_grad_()
        value = LOSSES[name](clean=clean, enhanced=enhanced)
        value.backward()
        assert value.isfinite() and enhanced.grad.isfinite().all()
        assert enhanced.grad.norm() < 2e4


def test_losses_refuse_other_shapes(pair):
    clean = pair[0]
    for loss in LOSSES.values():
        assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(loss).parameters.values())
        for wrong in (clean[:, :-1], clean[:1], clean[0]):
            with pytest.raises(ValueError, match="must both be"):
                loss(clean=clean, enhanced=wrong)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@each_loss
def test_losses_are_the_same_on_cuda(name, pair):
    values = {}
    for device in ("cpu", "cuda"):
        clean, enhanced = (x.to(device) for x in pair)
        enhanced = enhanced.clone().requires_grad_()
        value = LOSSES[name](clean=clean, enhanced=enhanced)
        value.backward()
        values[device] = torch.cat([value.detach().cpu()[None], enhanced.grad.cpu().flatten()])
    torch.testing.assert_close(values["cpu"], values["cuda"], rtol=1e-6, atol=1e-9)
