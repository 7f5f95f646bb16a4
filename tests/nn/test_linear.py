"""The quaternion linear layer against its equations, in float64."""

import pytest

torch = pytest.importorskip("torch")

from tensors import as_trained, close, draw, sixteen_products

from qse.nn.conv import CausalConv2d, QuaternionConv2d
from qse.nn.linear import QuaternionLinear


def test_linear_is_equations_24_to_27():
    layer = as_trained(QuaternionLinear(3, 5), 0.3).double()
    x = draw(2, 7, 4, 3)
    expected = sixteen_products(x.unbind(-2), layer.weight, lambda a, b: a @ b.T).movedim(0, -2)
    close(layer(x), expected + layer.bias)


@pytest.mark.parametrize(
    "layer, real",
    [
        (QuaternionLinear(3, 5, bias=False), torch.nn.Linear(12, 20, bias=False)),
        (QuaternionConv2d(3, 5, (2, 3), bias=False), torch.nn.Conv2d(12, 20, (2, 3), bias=False)),
        (CausalConv2d(3, 5, (2, 3), bias=False), torch.nn.Conv2d(12, 20, (2, 3), bias=False)),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_layers_have_a_quarter_of_the_real_weights(layer, real):
    quaternion = sum(p.numel() for p in layer.parameters())
    assert 4 * quaternion == sum(p.numel() for p in real.parameters())


def test_bias_is_one_quaternion_per_channel():
    assert QuaternionLinear(3, 5).bias.shape == QuaternionConv2d(3, 5, (1, 1)).bias.shape == (4, 5)
