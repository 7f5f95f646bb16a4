"""The centred STFT and its inverse against torch.stft and torch.istft."""

import pytest

torch = pytest.importorskip("torch")


from qse_papers.nn.centred_stft import CentredISTFT, CentredSTFT

N_FFT = 64
HOP = 16


@pytest.mark.parametrize("samples", [1, HOP - 1, HOP, 1003])
def test_centred_stft_equals_torch(samples):
    audio = 0.3 * torch.randn(3, samples)
    window = torch.hann_window(N_FFT)
    expected = torch.stft(
        audio, N_FFT, HOP, window=window, pad_mode="constant", return_complex=True
    )
    spec = CentredSTFT(N_FFT, HOP)(audio)
    torch.testing.assert_close(
        spec, torch.view_as_real(expected).permute(0, 3, 2, 1), rtol=0, atol=1e-5
    )
    torch.testing.assert_close(CentredISTFT(N_FFT, HOP)(spec, samples), audio, rtol=0, atol=1e-6)


def test_centred_istft_equals_torch():
    """Of a spectrum that belongs to no signal: overlap-add, divided by the squared windows."""
    spec = torch.randn(2, 2, 9, N_FFT // 2 + 1)
    spec[:, 1, :, [0, -1]] = 0
    expected = torch.istft(
        torch.complex(*spec.mT.unbind(1)), N_FFT, HOP, window=torch.hann_window(N_FFT), length=130
    )
    torch.testing.assert_close(CentredISTFT(N_FFT, HOP)(spec, 130), expected, rtol=0, atol=1e-5)


def test_centred_stft_ignores_autocast():
    audio = 0.3 * torch.randn(1, 320)
    stft = CentredSTFT(N_FFT, HOP)
    inverse = CentredISTFT(N_FFT, HOP)
    expected = inverse(stft(audio), 320)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(inverse(stft(audio), 320), expected)


def test_centred_stft_has_no_weights():
    assert not CentredSTFT(N_FFT, HOP).state_dict() and not CentredISTFT(N_FFT, HOP).state_dict()
