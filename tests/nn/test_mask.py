"""The magnitude and phase mask against its formulas."""

import pytest

torch = pytest.importorskip("torch")


from qse.nn.mask import MagnitudePhaseMask


def test_mask_scales_magnitude_and_rotates_phase():  # Eqs. 68-69
    spec = torch.randn(2, 2, 5, 7)
    o = torch.randn(2, 3, 5, 7)
    x = torch.complex(spec[:, 0], spec[:, 1])
    magnitude = 2 / (1 + (-o[:, 0]).exp()) * x.abs()
    phase = x.angle() + torch.atan2(o[:, 2], 1 + o[:, 1])
    found = MagnitudePhaseMask()(spec, o)
    torch.testing.assert_close(
        torch.complex(found[:, 0], found[:, 1]), torch.polar(magnitude, phase)
    )


def test_mask_of_zeros_is_the_identity():
    spec = torch.randn(2, 2, 5, 7)
    torch.testing.assert_close(
        MagnitudePhaseMask()(spec, torch.zeros(2, 3, 5, 7)), spec, rtol=1e-6, atol=0
    )


def test_mask_gives_nyquist_the_last_gain():
    spec = torch.randn(2, 2, 5, 7)
    o = torch.randn(2, 3, 5, 6)
    padded = torch.cat([o, o[..., -1:]], 3)
    torch.testing.assert_close(MagnitudePhaseMask()(spec, o), MagnitudePhaseMask()(spec, padded))


@pytest.mark.parametrize("o1, o2", [(-1.0, 0.0), (-1.0, 1e-12), (0.0, 0.0)])
def test_mask_gradient_is_finite_without_direction(o1, o2):
    spec = torch.zeros(1, 2, 1, 1, requires_grad=True)
    o = torch.tensor([0.0, o1, o2]).view(1, 3, 1, 1).requires_grad_()
    y = MagnitudePhaseMask()(spec + 1, o)
    y.sum().backward()
    assert all(torch.isfinite(x).all() for x in (y, spec.grad, o.grad))
