"""PHM layers against real layers, quaternion layers and the paper's parameter counts."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.hypercomplex import (
    HypercomplexConv,
    HypercomplexLinear,
    HypercomplexLSTM,
    hamilton_rule,
)
from qse_papers.nn.cells import QuaternionLSTM
from tensors import close, count, draw

from qse.nn import contract
from qse.nn.conv import QuaternionConv2d
from qse.nn.hypercomplex import hypercomplex_matrix
from qse.nn.linear import QuaternionLinear


def test_hypercomplex_linear_n_1_is_the_real_layer():
    x = draw(3, 5)
    layer = HypercomplexLinear(1, 5, 7).double()
    real = torch.nn.Linear(5, 7).double()
    assert count(layer) == count(real)
    with torch.no_grad():
        layer.weight.weight.copy_(real.weight[None, None])
        layer.bias.copy_(real.bias)
    close(layer(x), real(x))


def test_hamilton_rule_gives_quaternion_linear():  # Eqs. 6-7
    x = draw(3, 4, 5)
    quaternion = QuaternionLinear(5, 7).double()
    layer = HypercomplexLinear(4, 20, 28, rule=hamilton_rule()).double()
    assert count(layer) == count(quaternion)
    with torch.no_grad():
        layer.weight.weight.copy_(quaternion.weight[None])
        layer.bias.copy_(quaternion.bias.flatten())
    close(layer(x.flatten(1)).view(3, 4, 7), quaternion(x))


def test_hamilton_rule_gives_quaternion_conv2d():
    x = draw(2, 4, 2, 6, 9)
    quaternion = QuaternionConv2d(2, 3, (2, 3), stride=(1, 2), padding=(0, 1)).double()
    layer = HypercomplexConv(
        4, 8, 12, (2, 3), stride=(1, 2), padding=(0, 1), rule=hamilton_rule()
    ).double()
    with torch.no_grad():
        layer.weight.weight.copy_(quaternion.weight[None])
    close(layer(x.flatten(1, 2)).unflatten(1, (4, -1)), quaternion(x))


def test_hypercomplex_conv_along_one_axis():
    layer = HypercomplexConv(3, 6, 9, (2,)).double()
    x = draw(2, 6, 5)
    matrix = layer.weight()
    close(layer(x), matrix[..., 0] @ x[..., :-1] + matrix[..., 1] @ x[..., 1:])


def test_hamilton_rule_gives_quaternion_lstm():
    x = draw(2, 6, 4, 3)
    quaternion = QuaternionLSTM(3, 5).double()
    layer = HypercomplexLSTM(4, 12, 20, rule=hamilton_rule()).double()
    with torch.no_grad():
        layer.weight_input.weight.copy_(quaternion.weight_input)
        layer.weight_hidden.weight.copy_(quaternion.weight_hidden)
        layer.bias.copy_(quaternion.bias.flatten(1))
    close(layer(x.flatten(2))[0].unflatten(-1, (4, -1)), quaternion(x)[0])


def test_hypercomplex_lstm_streams():
    torch.manual_seed(0)
    contract.verify_stream(HypercomplexLSTM(5, 10, 15), draw(2, 23, 10), dim=1)


@pytest.mark.parametrize("n, thousands", [(1, 721), (2, 361), (5, 146), (10, 81)])
def test_hypercomplex_lstm_parameters_of_table_1(n, thousands):
    assert count(HypercomplexLSTM(n, 300, 300)) // 1000 == thousands


def test_hypercomplex_linear_learns_its_rule():
    learned = HypercomplexLinear(4, 8, 8)
    given = HypercomplexLinear(4, 8, 8, rule=hamilton_rule())
    assert count(learned) - count(given) == 4 * 4 * 4
    assert torch.autograd.gradcheck(
        hypercomplex_matrix, (draw(2, 2, 2).requires_grad_(), draw(2, 1, 2).requires_grad_())
    )
