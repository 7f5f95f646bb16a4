"""The real-valued Conformer: its sequences are independent, its convolution is depthwise."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.conformer import Block, ConformerConfig, ConvModule, GatedLayer, RealCore
from qse_papers.networks.dilated_densenet import DilatedDense
from tensors import as_trained

CONFIG = ConformerConfig(channels=8, heads=2, kernel=5)


def test_block_keeps_sequences_apart():
    block = as_trained(Block(CONFIG))
    x = torch.randn(3, 7, 8)
    torch.testing.assert_close(block(x)[1:2], block(x[1:2]), rtol=0, atol=1e-5)


def test_conv_module_reaches_half_a_kernel():
    module = as_trained(ConvModule(8, 5, 0.0)).double()
    x = torch.randn(1, 11, 8, dtype=torch.float64)
    other = x.clone()
    other[:, 5] += 1
    changed = (module(other) - module(x)).abs().amax((0, 2)) > 1e-9
    assert changed.tolist() == [abs(frame - 5) <= 2 for frame in range(11)]


def test_dense_halves_frequency_in_its_last_layer():
    dense = as_trained(DilatedDense(4, 4, (1, 2), 0.0, stride=2, layer=GatedLayer))
    assert dense(torch.randn(1, 4, 6, 9)).shape == (1, 4, 6, 5)


def test_first_weights_are_drawn_in_the_order_of_the_signal():
    """So that a seed gives the network of before."""
    torch.manual_seed(0)
    first = torch.nn.Conv2d(3, 8, 3, bias=False).weight
    torch.manual_seed(0)
    torch.testing.assert_close(RealCore(CONFIG).encoder[0][0].weight, first, rtol=0, atol=0)
