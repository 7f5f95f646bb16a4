"""Quaternion features against their formulas."""

import pytest

torch = pytest.importorskip("torch")


from qse.nn.features import QuaternionFeatures


def test_features_of_power_one_are_those_of_the_paper():  # Eq. 19
    spec = torch.randn(2, 2, 5, 7)
    x = torch.complex(spec[:, 0], spec[:, 1])
    expected = torch.stack([torch.zeros_like(x.real), x.abs(), x.real, x.imag], 1)[:, :, None]
    torch.testing.assert_close(QuaternionFeatures(power=1)(spec), expected)


def test_features_compress_the_magnitude_and_keep_the_phase():
    spec = torch.randn(2, 2, 5, 7)
    x = torch.complex(spec[:, 0], spec[:, 1])
    _, m, re, im = QuaternionFeatures(power=0.3)(spec)[:, :, 0].unbind(1)
    torch.testing.assert_close(m, x.abs() ** 0.3)
    torch.testing.assert_close(torch.complex(re, im), torch.polar(x.abs() ** 0.3, x.angle()))


def test_features_use_the_first_bins():
    spec = torch.randn(2, 2, 5, 7)
    torch.testing.assert_close(
        QuaternionFeatures(0.3, bins=6)(spec), QuaternionFeatures(0.3)(spec)[..., :6]
    )


@pytest.mark.parametrize("level", [0.0, 1e-30, 1e-20, 1e-6])
@pytest.mark.parametrize("power", [0.3, 1.0])
def test_features_of_silence_are_finite_and_small(level, power):
    spec = (level * torch.randn(1, 2, 3, 4)).requires_grad_()
    x = QuaternionFeatures(power)(spec)
    x.sum().backward()
    assert torch.isfinite(x).all() and torch.isfinite(spec.grad).all()
    assert x.abs().max() <= 1.1 * max(level * 5, 1e-5) ** power
