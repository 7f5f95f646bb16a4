"""The streaming bottleneck: the streaming contract with every time mixer, mixing of bands."""

import pytest

torch = pytest.importorskip("torch")

from tensors import as_trained

from qse.networks.bottleneck import Bottleneck, DualPathBlock
from qse.networks.time_mixers import TIME_MIXERS
from qse.nn import contract


@pytest.mark.parametrize("qk_norm", [False, True])
def test_bottleneck_streams(qk_norm):
    layer = as_trained(Bottleneck(DualPathBlock(5, 4, 2, qk_norm) for _ in range(2)))
    contract.verify_stream(layer, torch.randn(2, 4, 4, 11, 5), dim=3)


@pytest.mark.parametrize("name", TIME_MIXERS)
def test_dual_path_block_streams_with_every_time_mixer(name):
    torch.manual_seed(0)
    contract.verify_stream(
        DualPathBlock(3, 4, 2, time_mixer=name, window=5), torch.randn(2, 15, 3, 4, 4), dim=1
    )


def test_bottleneck_mixes_bands_by_position():
    layer = as_trained(Bottleneck([DualPathBlock(5, 4, 2)]))
    x = torch.randn(1, 4, 4, 3, 5)
    other = torch.cat([torch.randn(1, 4, 4, 3, 1), x[..., 1:]], 4)
    change = (layer(other)[0] - layer(x)[0]).abs().amax((0, 1, 2, 3))
    assert (change > 1e-4).all()
    turned = layer(x.flip(4))[0].flip(4)
    assert (turned - layer(x)[0]).abs().max() > 1e-3  # attention alone could not tell
