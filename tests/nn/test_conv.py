"""Quaternion convolutions against their equations, in float64; up-sampling;
the streaming contract."""

import pytest

torch = pytest.importorskip("torch")

from tensors import as_trained, close, draw, sixteen_products
from torch.nn import functional as F

from qse.nn import contract
from qse.nn.conv import CausalConv2d, FrequencyUpsample, QuaternionConv2d
from qse.nn.layout import channels_innermost, is_channels_innermost

SIZES = [
    {"kernel": (1, 1)},
    {"kernel": (2, 3), "padding": (1, 1)},
    {"kernel": (3, 5), "stride": (1, 2), "padding": (0, 2), "dilation": (2, 1)},
]


@pytest.mark.parametrize("sizes", SIZES, ids=["1x1", "2x3", "3x5"])
def test_conv2d_is_equations_29_to_32(sizes):
    layer = as_trained(QuaternionConv2d(3, 5, **sizes), 0.3).double()
    x = draw(2, 4, 3, 9, 12)
    rest = {key: value for key, value in sizes.items() if key != "kernel"}
    expected = sixteen_products(
        x.unbind(1), layer.weight, lambda a, b: F.conv2d(a, b, **rest)
    ).movedim(0, 1)
    close(layer(x), expected + layer.bias[None, :, :, None, None])


def test_causal_conv2d_is_a_convolution_of_the_past():
    layer = as_trained(CausalConv2d(2, 3, (3, 5), dilation=2, stride=2), 0.3).double()
    x = draw(2, 4, 2, 9, 12)
    y, past = layer(x)
    assert y.shape == (2, 4, 3, 9, 6) and torch.equal(past, x[:, :, :, -4:])
    padded = F.pad(x, (2, 2, 4, 0))  # bins on both sides, frames before
    for t in range(9):
        frames = padded[:, :, :, t : t + 5 : 2]  # now, two and four frames before
        expected = sixteen_products(
            frames.unbind(1), layer.conv.weight, lambda a, b: F.conv2d(a, b, stride=(1, 2))
        )
        close(y[:, :, :, t], expected.movedim(0, 1)[:, :, :, 0] + layer.conv.bias[None, :, :, None])


@pytest.mark.parametrize(
    "kernel, dilation, stride", [((1, 3), 1, 1), ((2, 3), 1, 2), ((3, 1), 4, 1), ((4, 5), 3, 3)]
)
def test_causal_conv2d_streams(kernel, dilation, stride):
    layer = as_trained(CausalConv2d(2, 3, kernel, dilation=dilation, stride=stride), 0.3).double()
    contract.verify_stream(layer, draw(2, 4, 2, 19, 6), dim=3)


def test_frequency_upsample_interleaves_channel_groups():
    layer = as_trained(FrequencyUpsample(2, 3, factor=5), 0.3).double()
    x = draw(2, 4, 2, 3, 7)
    y = layer(x)
    wide = layer.conv(x)
    assert y.shape == (2, 4, 3, 3, 35)
    for phase in range(5):
        close(y[..., phase::5], wide[:, :, 3 * phase : 3 * phase + 3])


def test_frequency_upsample_keeps_the_layout():
    up = FrequencyUpsample(3, 2, factor=5).double()
    x = torch.randn(2, 4, 3, 4, 6, dtype=torch.float64)
    torch.nn.init.normal_(up.conv.bias)
    y = up(channels_innermost(x))
    assert is_channels_innermost(y)
    torch.testing.assert_close(y, up(x))
    got = torch.autograd.grad(y.square().sum(), list(up.parameters()))
    want = torch.autograd.grad(up(x).square().sum(), list(up.parameters()))
    torch.testing.assert_close(got, want)
