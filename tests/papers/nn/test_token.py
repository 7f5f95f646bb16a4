"""The global token: the streaming contract, and which outputs an input reaches."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.nn.token import GlobalToken
from tensors import as_trained, draw

from qse.nn import contract


def test_global_token_streams():
    contract.verify_stream(as_trained(GlobalToken(3, 4, 2, window=5)), draw(6, 23, 4, 4), dim=1)


def test_global_token_at_fewer_bands_keeps_streams_apart():
    layer = GlobalToken(6, 4, 2, window=5).double()
    x = draw(15, 9, 4, 4)  # three streams of five bands
    torch.testing.assert_close(layer.at_bands(5)(x)[0][:5], layer.at_bands(5)(x[:5])[0])
    assert layer.bands == 6


def test_global_token_reaches_all_bands_of_one_stream():
    torch.manual_seed(0)
    layer = GlobalToken(3, 4, 2, window=5).double()
    x = draw(6, 9, 4, 4)
    y = layer(x)[0]
    other = x.clone()
    other[1, 2] += 1  # band 1 of the first of two streams, frame 2
    changed = (layer(other)[0] - y).abs().amax((2, 3)) > 1e-9  # 6, 9
    assert not changed[3:].any() and not changed[:, :2].any()
    assert changed[:3, 2:7].all()  # every band, while the window contains the frame
    assert not changed[:, 7:].any()
