"""The streaming dense block: the streaming contract, its definition, its receptive field."""

import pytest

torch = pytest.importorskip("torch")

from tensors import as_trained

from qse.networks.dense_block import DenseBlock
from qse.nn import contract
from qse.nn.state import flatten_state


def test_dense_block_streams():
    layer = as_trained(DenseBlock(2, 3, (1, 2, 4)))
    contract.verify_stream(layer, torch.randn(2, 4, 2, 17, 6), dim=3)


def test_dense_block_equals_its_definition():
    block = as_trained(DenseBlock(2, 3, (1, 2)))
    x = torch.randn(2, 4, 2, 9, 6)
    seen = x
    for layer in block.layers.values():
        y = layer.norm(layer.conv(seen)[0])
        seen = torch.cat([seen, torch.where(y > 0, y, 0.2 * y)], 2)
    y = block.out.norm(block.out.conv(seen))
    torch.testing.assert_close(block(x)[0], x + torch.where(y > 0, y, 0.2 * y))


def test_dense_block_receptive_field():
    block = as_trained(DenseBlock(2, 3, (1, 2, 4))).double()
    x = torch.randn(1, 4, 2, 12, 6, dtype=torch.float64)
    y, state = block(x)
    assert [leaf.shape[3] for leaf in flatten_state(state).values()] == [1, 2, 4]
    moved = []
    for t in range(12):
        other = x.clone()
        other[:, :, :, t] += 1
        moved.append(not torch.equal(block(other)[0][:, :, :, 11], y[:, :, :, 11]))
    assert moved == [t >= 11 - (1 + 2 + 4) for t in range(12)]
