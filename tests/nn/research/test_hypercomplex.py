"""PHM layers against sums of Kronecker products, real layers, quaternion layers and the paper's parameter counts."""

import pytest

torch = pytest.importorskip("torch")

import contract
from tensors import close, count, draw
from torch.utils._python_dispatch import TorchDispatchMode

from qse.nn.conv import QuaternionConv2d
from qse.nn.linear import QuaternionLinear
from qse.nn.research.cells import QuaternionLSTM
from qse.nn.research.hypercomplex import (
    HypercomplexConv,
    HypercomplexLinear,
    HypercomplexLSTM,
    HypercomplexWeight,
    hamilton_rule,
    hypercomplex_matrix,
)


@pytest.mark.parametrize("n, out, into", [(1, 3, 5), (2, 6, 4), (3, 9, 6), (5, 10, 15), (8, 16, 8)])
def test_hypercomplex_matrix_sums_kronecker_products(n, out, into):  # Eq. 5
    rule, weight = draw(n, n, n), draw(n, out // n, into // n, seed=1)
    close(
        hypercomplex_matrix(rule, weight),
        sum(torch.kron(a, s) for a, s in zip(rule, weight, strict=True)),
    )


def test_hypercomplex_matrix_of_a_kernel():
    rule, weight = draw(2, 2, 2), draw(2, 3, 2, 2, 4, seed=1)
    matrix = hypercomplex_matrix(rule, weight)
    assert matrix.shape == (6, 4, 2, 4)
    close(matrix[..., 1, 2], hypercomplex_matrix(rule, weight[..., 1, 2]))


def test_hypercomplex_matrix_needs_no_larger_tensor():
    class Largest(TorchDispatchMode):
        size = 0

        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            result = function(*arguments, **(keywords or {}))
            if isinstance(result, torch.Tensor):
                self.size = max(self.size, result.numel())
            return result

    with Largest() as largest:
        hypercomplex_matrix(draw(8, 8, 8), draw(8, 16, 24))
    assert largest.size == 8 * 16 * 8 * 24


def test_hypercomplex_linear_n_1_is_the_real_layer():
    x, layer, real = (
        draw(3, 5),
        HypercomplexLinear(1, 5, 7).double(),
        torch.nn.Linear(5, 7).double(),
    )
    assert count(layer) == count(real)
    with torch.no_grad():
        layer.weight.weight.copy_(real.weight[None, None])
        layer.bias.copy_(real.bias)
    close(layer(x), real(x))


def test_hamilton_rule_gives_quaternion_linear():  # Eqs. 6-7
    x, quaternion = draw(3, 4, 5), QuaternionLinear(5, 7).double()
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
    layer, x = HypercomplexConv(3, 6, 9, (2,)).double(), draw(2, 6, 5)
    matrix = layer.weight()
    expected = [
        matrix[..., 0] @ x[..., t, None] + matrix[..., 1] @ x[..., t + 1, None] for t in range(4)
    ]
    close(layer(x), torch.cat(expected, -1))


def test_hamilton_rule_gives_quaternion_lstm():
    x, quaternion = draw(2, 6, 4, 3), QuaternionLSTM(3, 5).double()
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
    learned, given = HypercomplexLinear(4, 8, 8), HypercomplexLinear(4, 8, 8, rule=hamilton_rule())
    assert count(learned) - count(given) == 4 * 4 * 4
    assert torch.autograd.gradcheck(
        hypercomplex_matrix, (draw(2, 2, 2).requires_grad_(), draw(2, 1, 2).requires_grad_())
    )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_hypercomplex_weight_variance_is_that_of_glorot(n):
    torch.manual_seed(0)
    variance = torch.stack([HypercomplexWeight(n, 100, 50)().var() for _ in range(20)]).mean()
    assert variance.item() == pytest.approx(2 / 150, rel=0.1)


def test_hypercomplex_linear_refuses_n_that_does_not_divide():
    with pytest.raises(ValueError, match="n = 3 does not divide the 6 inputs and 8 outputs"):
        HypercomplexLinear(3, 6, 8)
