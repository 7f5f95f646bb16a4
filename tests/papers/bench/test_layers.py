"""Forms of a quaternion layer: all compute the Hamilton product."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.bench import layers
from torch.nn import functional as F

from qse.nn.quaternion import hamilton_product


@pytest.mark.parametrize("form", layers.FORMS)
def test_layer_forms_equal_the_hamilton_product(form):
    x = torch.randn(6, 4, 3, dtype=torch.float64)
    weight = torch.randn(4, 2, 3, dtype=torch.float64)
    expected = hamilton_product(x[:, :, None], weight[None], dim=1).sum(-1)  # 6, 4, out
    torch.testing.assert_close(
        layers.FORMS[form](F.linear, x, weight), expected, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("size", layers.SIZES)
def test_layer_calls_agree(size):
    calls = layers.layer_calls(*layers.SIZES[size])
    expected = calls["real matrix"][0]()
    for form, (call, leaves) in calls.items():
        found = call()
        torch.testing.assert_close(found.reshape(expected.shape), expected, rtol=0, atol=2e-4)
        assert all(gradient.any() for gradient in torch.autograd.grad(found.sum(), leaves)), form
