"""Power spectra against torch.stft."""

import pytest

torch = pytest.importorskip("torch")

from qse.losses import stft as spectra


@pytest.mark.parametrize(
    "n_fft, hop_length, win_length", [(512, 50, 240), (2048, 240, 1200), (512, 256, 512)]
)
def test_power_spectrum_equals_torch_stft(n_fft, hop_length, win_length, pair):
    x = pair[0].clone().requires_grad_()
    window = torch.hann_window(win_length, dtype=x.dtype)
    ours = spectra.power_spectrum(x, n_fft, hop_length, win_length)
    spec = torch.stft(x, n_fft, hop_length, win_length, window, return_complex=True)
    theirs = spec.abs().square().transpose(1, 2)
    weights = torch.rand(ours.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    gradients = [torch.autograd.grad((power * weights).sum(), x)[0] for power in (ours, theirs)]
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-12)
