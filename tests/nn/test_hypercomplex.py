"""The matrix of PHM layers against sums of Kronecker products."""

import pytest

torch = pytest.importorskip("torch")

from tensors import close, draw
from torch.utils._python_dispatch import TorchDispatchMode

from qse.nn.hypercomplex import HypercomplexWeight, hypercomplex_matrix


@pytest.mark.parametrize("n, out, into", [(1, 3, 5), (2, 6, 4), (3, 9, 6), (5, 10, 15), (8, 16, 8)])
def test_hypercomplex_matrix_sums_kronecker_products(n, out, into):  # Eq. 5
    rule = draw(n, n, n)
    weight = draw(n, out // n, into // n, seed=1)
    close(hypercomplex_matrix(rule, weight), sum(map(torch.kron, rule, weight)))


def test_hypercomplex_matrix_of_a_kernel():
    rule = draw(2, 2, 2)
    weight = draw(2, 3, 2, 2, 4, seed=1)
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


@pytest.mark.parametrize("n", [1, 2, 5])
def test_hypercomplex_weight_variance_is_that_of_glorot(n):
    torch.manual_seed(0)
    variance = torch.stack([HypercomplexWeight(n, 100, 50)().var() for _ in range(20)]).mean()
    assert variance.item() == pytest.approx(2 / 150, rel=0.1)


def test_hypercomplex_weight_refuses_n_that_does_not_divide():
    with pytest.raises(ValueError, match="n = 3 does not divide the 6 inputs and 8 outputs"):
        HypercomplexWeight(3, 8, 6)
