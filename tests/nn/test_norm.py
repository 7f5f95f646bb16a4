"""Quaternion layer norms against their equations, in float64."""

import pytest

torch = pytest.importorskip("torch")

from tensors import as_trained, close, draw

from qse.nn.norm import QuaternionLayerNorm, QuaternionRMSNorm
from qse.nn.quaternion import hamilton_product, modulus


def test_rms_norm_is_equations_17_and_18():
    layer = as_trained(QuaternionRMSNorm(3), 0.3).double()
    x = draw(5, 4, 3)
    y = layer(x)
    for n in range(5):
        for c in range(3):
            q = x[n, :, c]
            rms = ((q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2) / 4 + 1e-6).sqrt()
            close(y[n, :, c], q / rms * layer.gain[c])


def test_rms_norm_keeps_the_direction():
    layer = as_trained(QuaternionRMSNorm(3), 0.3).double()
    x = 10 + draw(5, 4, 3)
    y = layer(x)
    close(modulus(y, -2), (2 * layer.gain.abs()).expand(5, 3), 1e-6)
    close(y / modulus(y, -2)[:, None], x / modulus(x, -2)[:, None] * layer.gain.sign(), 1e-12)


def test_layer_norm_equals_its_definition():
    layer = as_trained(QuaternionLayerNorm(6), 0.3).double()
    x = draw(5, 4, 6)
    y = layer(x)
    for n in range(5):
        rest = x[n] - x[n].sum(1, keepdim=True) / 6
        power = sum(modulus(rest[:, c], 0) ** 2 for c in range(6)) / (4 * 6)
        close(y[n], rest / (power + 1e-5).sqrt() * layer.gain + layer.bias)


@pytest.mark.parametrize("norm", [QuaternionLayerNorm, QuaternionRMSNorm])
def test_norm_commutes_with_rotations(norm):
    """A unit quaternion from the left and one from the right: together any rotation of the four
    components."""
    layer = as_trained(norm(6), 0.3).double()
    x = draw(5, 6, 4)
    if norm is QuaternionLayerNorm:
        layer.bias.data.zero_()
    p, q = (u / modulus(u) for u in draw(2, 4))

    def turned(tokens):
        return hamilton_product(hamilton_product(p, tokens), q)

    def normed(tokens):
        return layer(tokens.mT).mT

    close(normed(turned(x)), turned(normed(x)))


@pytest.mark.parametrize("norm", [QuaternionLayerNorm, QuaternionRMSNorm])
def test_norm_of_silence_is_finite(norm):
    x = torch.zeros(2, 4, 3, requires_grad=True)
    y = norm(3)(x)
    y.sum().backward()
    assert torch.isfinite(y).all() and torch.isfinite(x.grad).all()
