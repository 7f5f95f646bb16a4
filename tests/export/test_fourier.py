"""The factored Fourier transform against the transform it replaces; the streaming contract."""

import pytest

torch = pytest.importorskip("torch")

from qse.export.fourier import FactoredAnalysis, FactoredSynthesis, bins_by_place, factors
from qse.nn import contract
from qse.nn.stft import Analysis, Synthesis

SIZES = [
    (512, 160, 160),
    (512, 200, 120),
    (320, 160, 160),
    (400, 100, 100),
    (64, 32, 32),
    (62, 31, 31),
    (480, 160, 80),
]
each_size = pytest.mark.parametrize("n_fft, hop, overlap", SIZES)


def by_place(spec: torch.Tensor, n_fft: int) -> torch.Tensor:
    """(B, 2, T, F) -> (B, T, R, 2, J)."""
    return spec[..., bins_by_place(n_fft)].permute(0, 2, 3, 1, 4)


@pytest.mark.parametrize("n_fft", [512, 320, 400, 64, 62, 4])
def test_factors_compute_the_transform(n_fft):
    first, turn, second = factors(n_fft)
    x = torch.randn(n_fft, dtype=torch.float64)
    rows = (first @ x.view(first.shape[1], -1)).view(len(turn), 1, -1)
    re, im = ((rows * turn).flatten(1) @ second).chunk(2, 1)
    expected = torch.fft.rfft(x)[bins_by_place(n_fft)]
    torch.testing.assert_close(torch.complex(re, im), expected, rtol=0, atol=1e-11)
    assert bins_by_place(n_fft).unique().numel() == n_fft // 2 + 1


def test_factors_are_small():
    assert sum(part.numel() for part in factors(512)) < 5_000 < 514 * 512 / 10


@each_size
def test_factored_transforms_equal_analysis_and_synthesis(n_fft, hop, overlap):
    analysis = Analysis(n_fft, hop, overlap)
    synthesis = Synthesis(n_fft, hop, overlap)
    x = 0.3 * torch.randn(2, 9 * hop)
    spec, past = analysis(x)
    for found, expected in zip(
        FactoredAnalysis(analysis)(x), (by_place(spec, n_fft), past), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-5)
    factor = torch.randn_like(spec)  # a complex number per bin
    products = by_place(spec, n_fft)[:, :, :, :, None] * by_place(factor, n_fft)[:, :, :, None]
    turned = torch.view_as_real(
        torch.complex(*spec.unbind(1)) * torch.complex(*factor.unbind(1))
    ).movedim(-1, 1)
    for found, expected in zip(
        FactoredSynthesis(synthesis)(products), synthesis(turned), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("n_fft, hop, overlap", [(64, 16, 16), (64, 16, 5), (62, 31, 31)])
def test_factored_transforms_stream(n_fft, hop, overlap):
    analysis = FactoredAnalysis(Analysis(n_fft, hop, overlap))
    synthesis = FactoredSynthesis(Synthesis(n_fft, hop, overlap))
    contract.verify_stream(analysis, torch.randn(2, 10 * hop), dim=1, unit=hop, out_dim=1)
    products = torch.randn(
        2, 10, *bins_by_place(n_fft).shape[:1], 2, 2, bins_by_place(n_fft).shape[1]
    )
    contract.verify_stream(synthesis, products, dim=1, out_dim=1)


def test_factored_analysis_refuses_a_part_of_a_hop():
    with pytest.raises(ValueError, match="33 samples are no multiple of the hop of 32"):
        FactoredAnalysis(Analysis(64, 32))(torch.zeros(1, 33))
