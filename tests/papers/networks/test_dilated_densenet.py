"""The paper's dense block against its definition; memory layout."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.dilated_densenet import GatedLayer, NormedConv, Unit
from small_networks import unsettle
from torch.nn import functional as F

from qse.nn.conv import QuaternionConv2d
from qse.nn.layout import to_features, to_tokens


def convolved(conv: NormedConv, x: torch.Tensor, channels: slice) -> torch.Tensor:
    """Compute some output channels of convolution and batch norm in eval mode,
    one after the other."""
    plain = QuaternionConv2d(
        *conv.weight.shape[2:0:-1], conv.weight.shape[3:], padding=conv.padding, bias=False
    )
    plain.weight = conv.weight
    plain.dilation = conv.dilation
    norm = conv.batch_norm
    y = F.batch_norm(
        plain(x).flatten(1, 2), norm.running_mean, norm.running_var, norm.weight, norm.bias
    )
    return y.unflatten(1, (4, -1))[:, :, channels]


def test_gated_layer_is_figure_6c():
    layer = unsettle(GatedLayer(3, 2, dilation=2, dropout=0.1)).eval()
    x = torch.randn(2, 4, 3, 9, 5)
    hidden = F.leaky_relu(convolved(layer.widen[0], x, slice(None)), 0.25)
    value = convolved(layer.both, hidden, slice(0, 2))
    gate = convolved(layer.both, hidden, slice(2, 4))
    torch.testing.assert_close(
        layer(x), F.prelu(value, layer.act.weight) * torch.sigmoid(gate), rtol=1e-4, atol=1e-5
    )


def test_units_keep_channels_innermost():
    """Speed depends on it: units and layers return (B, T, F, 4, C) in memory, also for one item."""
    x = to_features(torch.randn(1, 9, 5, 4, 3))
    for layer in (Unit(3, 2, (3, 3)), Unit(3, 2, (1, 1)), GatedLayer(3, 2, 1, 0.1)):
        for mode in (True, False):
            assert to_tokens(layer.train(mode)(x)).is_contiguous()
