"""The paper's mask against its formulas."""

import pytest

torch = pytest.importorskip("torch")


from qse_papers.nn.polar import PolarMask


def test_polar_mask_is_equations_68_and_69():
    spec = torch.randn(2, 2, 5, 7)
    o = 4 * torch.randn(2, 2, 5, 7)
    noisy = torch.complex(spec[:, 0], spec[:, 1])
    expected = torch.polar(2 * torch.sigmoid(o[:, 0]) * noisy.abs(), noisy.angle() + o[:, 1])
    torch.testing.assert_close(
        PolarMask()(spec, o), torch.view_as_real(expected).movedim(-1, 1), rtol=1e-4, atol=1e-5
    )
