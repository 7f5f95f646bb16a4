"""Linear layers of several algebras on real vectors."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.flat import flat_linear
from tensors import count


def test_block_diagonal_layer_keeps_components_apart():
    torch.manual_seed(0)
    layer = flat_linear("block-diagonal", 16, 8).double()
    x = torch.randn(3, 16).double()
    blocks = torch.block_diag(*layer.weight.mT)
    torch.testing.assert_close(layer(x), x @ blocks.T + layer.bias)
    known = flat_linear("quaternion", 16, 8)
    assert count(layer) == count(known)


def test_layers_keep_the_size_of_a_signal():
    """Both begin with the variance of Glorot and Bengio: 1 for as many inputs as outputs."""
    torch.manual_seed(0)
    x = torch.randn(500, 256)
    for algebra in ("quaternion", "block-diagonal"):
        y = flat_linear(algebra, 256, 256, bias=False)(x)
        assert y.std().item() == pytest.approx(1, abs=0.15), algebra


def test_flat_linear_names_its_algebras():
    with pytest.raises(ValueError, match="choose one of real, quaternion, block-diagonal, phm"):
        flat_linear("octonion", 8, 8)
