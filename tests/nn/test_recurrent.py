"""The quaternion GRU against its equations, in float64; the streaming contract."""

import pytest

torch = pytest.importorskip("torch")

from tensors import as_trained, close, draw, sixteen_products

from qse.nn import contract
from qse.nn.recurrent import QuaternionGRU


@pytest.mark.parametrize("training", [False, True])
def test_quaternion_gru_is_its_equations(training):
    layer = as_trained(QuaternionGRU(3, 5), 0.3).double().train(training)
    x = draw(2, 7, 4, 3)
    y, last = layer(x)

    def times(tokens, w):
        return sixteen_products(tokens.unbind(-2), w, lambda a, b: a @ b.T).movedim(0, -2)

    (w_r, w_z, w_n) = layer.weight_input
    (u_r, u_z, u_n) = layer.weight_hidden
    (b_r, b_z, b_n) = layer.bias_input
    (c_r, c_z, c_n) = layer.bias_hidden
    h = torch.zeros(2, 4, 5, dtype=torch.float64)
    for t in range(7):
        now = x[:, t]
        r = torch.sigmoid(times(now, w_r) + b_r + times(h, u_r) + c_r)
        z = torch.sigmoid(times(now, w_z) + b_z + times(h, u_z) + c_z)
        n = torch.tanh(times(now, w_n) + b_n + r * (times(h, u_n) + c_n))
        h = (1 - z) * n + z * h
        close(y[:, t], h)
    close(last, h)


def test_quaternion_gru_streams():
    contract.verify_stream(as_trained(QuaternionGRU(3, 5), 0.3).double(), draw(4, 17, 4, 3), dim=1)
