"""The linear recurrent unit against its recurrence; the streaming contract."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.nn.lru import QuaternionLRU
from tensors import as_trained, close, draw

from qse.nn import contract
from qse.nn.quaternion import hamilton_product, modulus


def test_lru_streams():
    contract.verify_stream(as_trained(QuaternionLRU(4)), draw(6, 23, 4, 4), dim=1)


def test_lru_equals_its_recurrence():
    torch.manual_seed(0)
    layer = QuaternionLRU(3).double()
    x = draw(2, 7, 4, 3)
    eigenvalue = layer.eigenvalue()
    h = torch.zeros(2, 4, 3).double()
    (y, after) = layer(x)
    for t in range(7):
        level = (1 - modulus(eigenvalue, 0) ** 2).sqrt()
        h = hamilton_product(h, eigenvalue, -2) + level * layer.into(x[:, t])
        o = layer.out(h) + layer.skip * x[:, t]
        close(y[:, t], o * o.sigmoid())
    close(after, h)


def test_lru_is_stable_for_any_parameters():
    layer = QuaternionLRU(200)
    size = modulus(layer.eigenvalue(), 0)
    assert size.min() > 0.499 and size.max() < 0.991
    with torch.no_grad():
        layer.rate.copy_(4 * torch.randn(200))
        layer.turn.copy_(10 * torch.randn(3, 200))
    assert (modulus(layer.eigenvalue(), 0) <= 1).all()


def test_lru_gradient_is_finite_without_rotation():
    layer = QuaternionLRU(2)
    with torch.no_grad():
        layer.turn.zero_()
    layer(torch.randn(1, 5, 4, 2))[0].sum().backward()
    for parameter in layer.parameters():
        assert parameter.grad.isfinite().all()
